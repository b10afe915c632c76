#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace pex::test {

/// What a certificate is to say.
struct Subject {
  std::string name = "test";
  std::string alternative_names{};  ///< as in openssl-x509v3_config(5): "DNS:a,IP:::1"; empty: none
  bool is_authority = false;
  bool is_rsa = false;  ///< else P-256, or Ed25519
  bool is_ed25519 = false;
  unsigned rsa_bits = 2048;
  long valid_from = -3600;  ///< s from now
  long valid_until = 3600;
};

/// A certificate with its key, made on the spot; what cannot be made
/// ends the program.
class Identity {
 public:
  /// Signed by itself.
  explicit Identity(const Subject& subject) : Identity(subject, nullptr) {}
  Identity(const Subject& subject, const Identity& issuer) : Identity(subject, &issuer) {}

  std::string certificate() const {
    return written([&](BIO* to) { return PEM_write_bio_X509(to, certificate_.get()); });
  }
  std::string key() const {
    return written([&](BIO* to) {
      return PEM_write_bio_PrivateKey(to, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  std::string encrypted_key() const {
    return written([&](BIO* to) {
      return PEM_write_bio_PrivateKey(to, key_.get(), EVP_aes_128_cbc(), nullptr, 0, nullptr,
                                      const_cast<char*>("passphrase"));
    });
  }

  X509* raw_certificate() const { return certificate_.get(); }
  EVP_PKEY* raw_key() const { return key_.get(); }

 private:
  struct Free {
    void operator()(X509* each) const { X509_free(each); }
    void operator()(EVP_PKEY* each) const { EVP_PKEY_free(each); }
    void operator()(BIO* each) const { BIO_free(each); }
    void operator()(X509_EXTENSION* each) const { X509_EXTENSION_free(each); }
  };

  Identity(const Subject& subject, const Identity* issuer)
      : key_(subject.is_rsa       ? EVP_RSA_gen(subject.rsa_bits)
             : subject.is_ed25519 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                                  : EVP_EC_gen("P-256")),
        certificate_(X509_new()) {
    static long serial = 0;
    X509* const made = certificate_.get();
    require(X509_set_version(made, X509_VERSION_3));
    require(ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial));
    require(X509_gmtime_adj(X509_getm_notBefore(made), subject.valid_from) != nullptr);
    require(X509_gmtime_adj(X509_getm_notAfter(made), subject.valid_until) != nullptr);
    X509_NAME* const name = X509_get_subject_name(made);
    require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(subject.name.c_str()),
                                       -1, -1, 0));
    const Identity& signer = issuer != nullptr ? *issuer : *this;
    require(X509_set_issuer_name(made, X509_get_subject_name(signer.certificate_.get())));
    require(X509_set_pubkey(made, key_.get()));
    if (subject.is_authority) add("basicConstraints", "critical,CA:TRUE");
    if (!subject.alternative_names.empty()) add("subjectAltName", subject.alternative_names);
    const bool hashes_itself = EVP_PKEY_get_base_id(signer.key_.get()) == EVP_PKEY_ED25519;
    require(X509_sign(made, signer.key_.get(), hashes_itself ? nullptr : EVP_sha256()) > 0);
  }

  static void require(bool holds) {
    if (!holds) std::abort();
  }

  void add(const char* extension, const std::string& value) {
    const std::unique_ptr<X509_EXTENSION, Free> made{
        X509V3_EXT_conf(nullptr, nullptr, extension, value.c_str())};
    require(made && X509_add_ext(certificate_.get(), made.get(), -1));
  }

  template <typename Write>
  static std::string written(Write write) {
    const std::unique_ptr<BIO, Free> to{BIO_new(BIO_s_mem())};
    require(write(to.get()) == 1);
    char* text = nullptr;
    const long size = BIO_get_mem_data(to.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }

  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> certificate_;
};

}  // namespace pex::test
