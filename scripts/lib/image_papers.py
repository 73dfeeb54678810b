#!/usr/bin/env python3
"""Writes the papers of an image: licences and bill of materials into the image, and the provenance beside the image.

  image_papers.py materials        licences of everything that is linked or compiled in, and an SPDX 2.3 document
  image_papers.py provenance       an in-toto statement with a SLSA v1 predicate, for the archive of an image; unsigned
  image_papers.py vulnerabilities  an OpenVEX document for the archive of an image: the vulnerabilities that it does not have
"""
import argparse
import datetime
import hashlib
import json
import pathlib
import re
import shutil


def time_of(epoch):
    return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_lock(path):
    """Returns (version, SHA-256) of every package of the root, by name."""
    packages = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, version, checksum = line.split()
            packages[name] = (version, checksum)
    return packages


def licences_of(copyright_file):
    """Returns the short names of licences that a machine-readable copyright file contains, in their order."""
    names = re.findall(r"^License:[ \t]*(\S.*?)\s*$", copyright_file.read_text(errors="replace"), re.MULTILINE)
    return list(dict.fromkeys(names))


def package_entry(name, version, checksum, licences):
    entry = {
        "SPDXID": "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
        # Debian's short names are not SPDX expressions. Therefore they are in the comment, and the texts in the image.
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch=amd64&distro=sid",
        }],
    }
    if licences:
        entry["licenseComments"] = "; ".join(licences)
    return entry


def write_materials(args):
    lock = read_lock(args.lock)
    docs = args.image / "usr/share/doc"
    entries = []
    for name in sorted(set(args.packages.read_text().split())):
        if name not in lock:
            raise SystemExit(f"error: the package {name} is in the image and not in {args.lock}")
        source = args.root / "usr/share/doc" / name / "copyright"
        if not source.exists():
            raise SystemExit(f"error: the package {name} brings no licence in {source}")
        target = docs / name / "copyright"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        entries.append(package_entry(name, *lock[name], licences_of(source)))
    (docs / "basalt").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.licence, docs / "basalt/copyright")
    own = {
        "SPDXID": "SPDXRef-Package-basalt",
        "name": "basalt",
        "versionInfo": args.version,
        "comment": f"revision {args.revision}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"basalt-{args.version}",
        "documentNamespace": f"https://basalt.dev/spdx/basalt-{args.version}-{args.revision}",
        "creationInfo": {"created": time_of(args.epoch), "creators": ["Tool: basalt-scripts-images"]},
        "packages": [own] + entries,
        "relationships": [{
            "spdxElementId": "SPDXRef-DOCUMENT",
            "relationshipType": "DESCRIBES",
            "relatedSpdxElement": own["SPDXID"],
        }] + [{
            "spdxElementId": own["SPDXID"],
            "relationshipType": "DEPENDS_ON",
            "relatedSpdxElement": entry["SPDXID"],
        } for entry in entries],
    }
    path = args.image / "usr/share/basalt/materials.spdx.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def digest_of(path):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_provenance(args):
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": args.archive.name, "digest": {"sha256": digest_of(args.archive)}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://basalt.dev/build/scripts-images/v1",
                "externalParameters": {"version": args.version},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": args.revision}},
                    {"name": "deploy/images/packages.lock", "digest": {"sha256": digest_of(args.lock)}},
                ] + [
                    {"name": name, "uri": f"pkg:deb/debian/{name}@{version}?arch=amd64&distro=sid",
                     "digest": {"sha256": checksum}}
                    for name, (version, checksum) in sorted(read_lock(args.lock).items())
                ],
            },
            "runDetails": {
                "builder": {"id": "https://basalt.dev/build/scripts-images"},
                "metadata": {"startedOn": time_of(args.epoch)},
            },
        },
    }
    print(json.dumps(statement, indent=1))


def write_vulnerabilities(args):
    """Prints an OpenVEX document: vulnerabilities that scanners report for Debian 12's version and the image does not have."""
    grpc = read_lock(args.lock)["libgrpc-dev"][0]
    product = {
        "@id": f"pkg:oci/basalt@sha256:{digest_of(args.archive)}?tag={args.version}",
        "subcomponents": [{"@id": f"pkg:deb/debian/libgrpc-dev@{grpc}?arch=amd64&distro=sid"}],
    }
    document = {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": f"https://basalt.dev/vex/basalt-{args.version}-{args.revision}",
        "author": "basalt",
        "timestamp": time_of(args.epoch),
        "version": 1,
        "statements": [
            {
                "vulnerability": {"name": entry["name"]},
                "products": [product],
                "status": "fixed",
                "status_notes": f"gRPC: {entry['what']}. The programs contain gRPC {grpc}, which has the fix; the version is "
                "the proof: the attack was not reproduced on gRPC 1.51 of Debian 12 either.",
            }
            for entry in json.loads(args.vulnerabilities.read_text())
        ],
    }
    print(json.dumps(document, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    materials = commands.add_parser("materials")
    materials.set_defaults(run=write_materials)
    for name in ("--root", "--packages", "--licence", "--image"):
        materials.add_argument(name, type=pathlib.Path, required=True)
    provenance = commands.add_parser("provenance")
    provenance.set_defaults(run=write_provenance)
    provenance.add_argument("--archive", type=pathlib.Path, required=True)
    vulnerabilities = commands.add_parser("vulnerabilities")
    vulnerabilities.set_defaults(run=write_vulnerabilities)
    vulnerabilities.add_argument("--archive", type=pathlib.Path, required=True)
    vulnerabilities.add_argument("--vulnerabilities", type=pathlib.Path, required=True)
    for command in (materials, provenance, vulnerabilities):
        command.add_argument("--lock", type=pathlib.Path, required=True)
        command.add_argument("--version", required=True)
        command.add_argument("--revision", required=True)
        command.add_argument("--epoch", type=int, required=True)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
