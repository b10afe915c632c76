#!/bin/sh
# The software bill of materials of the image, as SPDX 2.3 in JSON, from dpkg's database:
#
#   sbom.sh list [PACKAGE...]                     what is installed, one package a line
#   sbom.sh document VERSION PROGRAM LINKED BUILT writes the document
#
# LINKED has the names of the packages whose libraries PROGRAM is linked to, BUILT is the `list` of
# those that it was compiled with, whose headers are parts of it. CREATED in the environment is the
# time of the build (RFC 3339). Needs only what every Debian has.
set -eu

# shellcheck disable=SC2016,SC2120  # fields of dpkg-query; with packages when called as a command
list() {
  fields='${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\t'
  fields="$fields"'${source:Package}\t${source:Version}\t${Maintainer}\n'
  dpkg-query -W -f "$fields" "$@" |
    awk -F'\t' -v OFS='\t' '$1 == "installed" { print $2, $3, $4, $5, $6, $7 }'
}

document() {
  version=$1 program=$2 linked=$3 built=$4
  checksum=$(sha256sum "$program" | cut -d' ' -f1)
  # shellcheck disable=SC2119
  here=$(list)
  unique=$({ printf '%s\n' "$here" "$checksum"; cat "$built"; } | sha256sum | cut -d' ' -f1)
  # shellcheck source=/dev/null
  distribution=$(. /etc/os-release && echo "$ID-$VERSION_ID")
  {
    sed 's/^/linked\t/' "$linked"
    printf '%s\n' "$here" | sed 's/^/deb\t/'
    sed 's/^/build\t/' "$built"
  } | awk -F'\t' -v version="$version" -v checksum="$checksum" -v unique="$unique" \
    -v distribution="$distribution" -v created="${CREATED:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}" '
    function quoted(text) {
      gsub(/\\/, "\\\\&", text)
      gsub(/"/, "\\\"", text)
      return "\"" text "\""
    }
    function identifier(kind, name) {
      gsub(/[+]/, ".plus", name)
      gsub(/_/, "-", name)
      return "SPDXRef-" kind "-" name
    }
    function in_url(text) {
      gsub(/[+]/, "%2B", text)
      gsub(/:/, "%3A", text)
      return text
    }
    function package(id, name, its_version, purpose, more) {
      packages[++count] = "    {\"SPDXID\": " quoted(id) ", \"name\": " quoted(name) \
        ", \"versionInfo\": " quoted(its_version) ", \"primaryPackagePurpose\": " quoted(purpose) \
        ", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false" \
        ", \"copyrightText\": \"NOASSERTION\", \"licenseConcluded\": \"NOASSERTION\"" more "}"
    }
    function relationship(from, what, to) {
      relationships[++related] = "    {\"spdxElementId\": " quoted(from) ", \"relationshipType\": " \
        quoted(what) ", \"relatedSpdxElement\": " quoted(to) "}"
    }
    function print_all(name, values, n, end,   i) {
      print "  \"" name "\": ["
      for (i = 1; i <= n; i++) print values[i] (i < n ? "," : "")
      print "  ]" end
    }
    BEGIN {
      image = "SPDXRef-image"
      program = "SPDXRef-perf-event-exporter"
      package(image, "perf_event_exporter image", version, "CONTAINER",
              ", \"licenseDeclared\": \"NOASSERTION\"")
      package(program, "perf_event_exporter", version, "APPLICATION",
              ", \"licenseDeclared\": \"Apache-2.0\", \"checksums\": [{\"algorithm\": \"SHA256\"" \
              ", \"checksumValue\": " quoted(checksum) "}]")
      relationship("SPDXRef-DOCUMENT", "DESCRIBES", image)
      relationship(image, "CONTAINS", program)
    }
    $1 == "linked" {
      is_linked[$2] = 1
      next
    }
    {
      id = identifier($1, $2 "-" $4)
      package(id, $2, $3, $1 == "deb" && is_linked[$2] ? "LIBRARY" : "OTHER",
              ", \"licenseDeclared\": \"NOASSERTION\", \"supplier\": " quoted("Organization: " $7) \
              ", \"sourceInfo\": " quoted("Debian source package " $5 " " $6) \
              ", \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\"" \
              ", \"referenceType\": \"purl\", \"referenceLocator\": " \
              quoted("pkg:deb/debian/" in_url($2) "@" in_url($3) "?arch=" $4 "&distro=" distribution) \
              "}]")
    }
    $1 == "deb" {
      relationship(image, "CONTAINS", id)
      if (is_linked[$2]) relationship(program, "DYNAMIC_LINK", id)
    }
    $1 == "build" { relationship(id, "BUILD_DEPENDENCY_OF", program) }
    END {
      print "{"
      print "  \"spdxVersion\": \"SPDX-2.3\","
      print "  \"dataLicense\": \"CC0-1.0\","
      print "  \"SPDXID\": \"SPDXRef-DOCUMENT\","
      print "  \"name\": " quoted("perf_event_exporter-" version) ","
      print "  \"documentNamespace\": " \
        quoted("https://spdx.org/spdxdocs/perf_event_exporter-" version "-" unique) ","
      print "  \"creationInfo\": {\"created\": " quoted(created) \
        ", \"creators\": [\"Tool: perf_event_exporter-sbom.sh\"]},"
      print_all("packages", packages, count, ",")
      print_all("relationships", relationships, related, "")
      print "}"
    }'
}

command=$1
shift
"$command" "$@"
