"""Reads a bill of materials in SPDX 2.3, and checks it as a reader of it would."""

import hashlib
import re
import subprocess
from pathlib import Path

IDENTIFIER = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
PURL = re.compile(r"pkg:deb/debian/[a-z0-9%.A-F-]+@[A-Za-z0-9%.~_-]+\?arch=[a-z0-9-]+&distro=debian-\d+")
RELATIONSHIPS = {"DESCRIBES", "CONTAINS", "DYNAMIC_LINK", "BUILD_DEPENDENCY_OF"}
# Of the document and of a package, what the specification demands and we promise in addition.
OF_DOCUMENT = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo",
               "packages", "relationships"}
OF_PACKAGE = {"SPDXID", "name", "versionInfo", "downloadLocation", "filesAnalyzed", "copyrightText",
              "licenseConcluded", "licenseDeclared", "primaryPackagePurpose"}
OF_DEBIAN = OF_PACKAGE | {"supplier", "sourceInfo", "externalRefs"}


def checksum(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def errors(document):
    """What a reader of SPDX would refuse."""
    return [*errors_of_document(document), *errors_of_packages(document["packages"]),
            *errors_of_relationships(document)]


def errors_of_document(document):
    if set(document) != OF_DOCUMENT:
        yield f"fields: {sorted(document)}"
    if (document["spdxVersion"], document["dataLicense"]) != ("SPDX-2.3", "CC0-1.0"):
        yield f"{document['spdxVersion']} under {document['dataLicense']}"
    if not re.fullmatch(r"https://[^#\s]+-[0-9a-f]{64}", document["documentNamespace"]):
        yield f"namespace {document['documentNamespace']}"
    made = document["creationInfo"]
    if not TIME.fullmatch(made["created"]) or not all(
            re.fullmatch(r"(Tool|Organization|Person): .+", each) for each in made["creators"]):
        yield f"made: {made}"


def errors_of_packages(packages):
    identifiers = [each["SPDXID"] for each in packages]
    if len(set(identifiers)) != len(identifiers):
        yield "two packages have the same identifier"
    for each in packages:
        if not IDENTIFIER.fullmatch(each["SPDXID"]):
            yield f"identifier {each['SPDXID']}"
        wanted = OF_DEBIAN if "externalRefs" in each else OF_PACKAGE
        if set(each) - {"checksums"} != wanted:
            yield f"{each['name']}: fields {sorted(each)}"
        for reference in each.get("externalRefs", []):
            if reference["referenceType"] != "purl" or not PURL.fullmatch(reference["referenceLocator"]):
                yield f"{each['name']}: {reference}"
        if not re.fullmatch(r"Organization: [^<>\n]+ <[^<>\s]+>", each.get("supplier", "Organization: a <b>")):
            yield f"{each['name']}: {each['supplier']}"


def errors_of_relationships(document):
    known = {each["SPDXID"] for each in document["packages"]} | {document["SPDXID"]}
    for each in document["relationships"]:
        if each["relationshipType"] not in RELATIONSHIPS:
            yield f"relationship {each['relationshipType']}"
        for end in (each["spdxElementId"], each["relatedSpdxElement"]):
            if end not in known:
                yield f"there is no {end}"
    related = {each[end] for each in document["relationships"]
               for end in ("spdxElementId", "relatedSpdxElement")}
    if known - related:
        yield f"in no relationship: {sorted(known - related)}"


class Bill:
    """Answers of a document without errors."""

    def __init__(self, document):
        self.packages = {each["SPDXID"]: each for each in document["packages"]}
        self.related = [(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"])
                        for each in document["relationships"]]
        self.program = next(key for key, each in self.packages.items()
                            if each["primaryPackagePurpose"] == "APPLICATION")

    def checksum_of_program(self):
        return self.packages[self.program]["checksums"][0]["checksumValue"]

    def in_image(self):
        """NAME=VERSION of each Debian package."""
        return [f"{self.packages[to]['name']}={self.packages[to]['versionInfo']}"
                for _, what, to in self.related if what == "CONTAINS" and to != self.program]

    def compiled_with(self):
        return [self.packages[one]["name"] for one, what, _ in self.related
                if what == "BUILD_DEPENDENCY_OF"]

    def linked(self):
        return [self.packages[to]["name"] for _, what, to in self.related if what == "DYNAMIC_LINK"]

    def missing_of_linked(self, program, root):
        """Libraries that the program names, below `root`, and that no linked package has. Those of the
        language come with them."""
        named = subprocess.run(["objdump", "-p", program], check=True, capture_output=True,
                               text=True).stdout
        libraries = set(re.findall(r"NEEDED +(\S+)", named))
        for package in [*self.linked(), "libc6", "libstdc++6", "libgcc-s1"]:
            files = subprocess.run(["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-L", package],
                                   check=True, capture_output=True, text=True).stdout
            libraries -= {line.rpartition("/")[2] for line in files.splitlines()}
        return sorted(libraries)
