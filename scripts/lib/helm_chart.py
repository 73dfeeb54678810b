"""Writes the Helm chart: deploy/chart, and templates that are made from the manifests of deploy/, so that each object
has one source. A text of a manifest that a value replaces must occur once, else the chart is not written."""
import argparse
import pathlib
import re
import shutil
import tempfile

NAMESPACE = "basalt-system"
ROLES = ("gateway", "jobsvc", "pgsvc", "queuesvc")
# Templates without values of their own: the file, its manifests, and the condition for its objects (None: always).
PLAIN = {
    "definitions.yaml": (
        [
            "crds/batch.volcano.sh_jobs.yaml",
            "crds/bus.volcano.sh_commands.yaml",
            "crds/scheduling.volcano.sh_podgroups.yaml",
            "crds/scheduling.volcano.sh_queues.yaml",
        ],
        ".Values.definitions.install",
    ),
    "rbac.yaml": (["rbac/gateway.yaml", "rbac/users/gateway.yaml"], None),
    "network.yaml": (["base/network.yaml"], ".Values.networkPolicies.enabled"),
    "kai.yaml": (["rbac/kai/gateway.yaml"], "or .Values.kai.enabled .Values.richGrouping.enabled"),
    "guard.yaml": (["rbac/guard/gateway.yaml"], ".Values.guard.enabled"),
    "impersonation.yaml": (["rbac/impersonation/gateway.yaml"], ".Values.impersonation.enabled"),
    "owner-references.yaml": (["rbac/owner-references/gateway.yaml"], ".Values.ownerReferences.enabled"),
    "prometheus.yaml": (["components/prometheus/monitor.yaml"], ".Values.prometheus.enabled"),
    "prometheus-network.yaml": (
        ["components/prometheus/network.yaml"],
        "and .Values.prometheus.enabled .Values.networkPolicies.enabled",
    ),
    "admission.yaml": (
        ["admission/jobs.yaml", "admission/podgroups.yaml", "admission/pods.yaml", "admission/queues.yaml"],
        ".Values.admission.enabled",
    ),
    "cert-manager.yaml": (
        ["certificates/cert-manager/authority.yaml", "certificates/cert-manager/certificates.yaml"],
        'eq .Values.certificates.source "cert-manager"',
    ),
    "signer.yaml": (["certificates/pod-certificates/signer.yaml"], 'eq .Values.certificates.source "pod-certificates"'),
}


def read(deploy, name):
    """Returns the objects of a file as texts, without comments and without the Namespace, which helm makes."""
    lines = [line for line in (deploy / name).read_text().splitlines() if not re.match(r"\s*#", line)]
    text = re.sub(r"(?m)^(\s*\S.*?)\s+#\s.*$", r"\1", "\n".join(lines))
    if "{{" in text:
        raise SystemExit(f"{name}: '{{{{' would be read by Helm")
    objects = [part.strip("\n") for part in re.split(r"(?m)^---$", text)]
    return [part for part in objects if part and not re.search(r"(?m)^kind: Namespace$", part)]


def once(text, old, new):
    if text.count(old) != 1:
        raise SystemExit(f"'{old}' stands {text.count(old)} times and not once in:\n{text[:200]}")
    return text.replace(old, new)


def replaced(text, pattern, new):
    text, count = re.subn(pattern, lambda match: new, text, flags=re.M)
    if count != 1:
        raise SystemExit(f"{pattern} matches {count} times and not once in:\n{text[:200]}")
    return text


def named(objects):
    """Returns the objects as one text, with the release's namespace and cluster."""
    text = "\n---\n".join(objects)
    return (
        text.replace(NAMESPACE, "{{ .Release.Namespace }}").replace("/cluster/default/", "/cluster/{{ .Values.cluster }}/")
        + "\n"
    )


def workload(text, role):
    values = f".Values.{role}"
    text = replaced(text, r"^  replicas: \d+$", f"  replicas: {{{{ {values}.replicas }}}}")
    text = once(text, "image: basalt:0.3.0", 'image: {{ include "basalt.image" . }}')
    text = once(text, "imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.image.pullPolicy }}")
    arguments = f"""            - --kubernetes_users
            {{{{- if ne .Values.cluster "default" }}}}
            - --cluster={{{{ .Values.cluster }}}}
            {{{{- end }}}}"""
    if role == "gateway":
        arguments += """
            {{- if .Values.kai.enabled }}
            - --kai_scheduler_name=kai-scheduler
            {{- end }}
            {{- if .Values.richGrouping.enabled }}
            - --volcano_profile=rich
            {{- end }}"""
    arguments += f"""
            {{{{- range {values}.args }}}}
            - {{{{ . | quote }}}}
            {{{{- end }}}}"""
    text = once(text, "            - --kubernetes_users", arguments)
    text = replaced(
        text,
        r"^          resources:\n            requests: .*\n            limits: .*$",
        f"          resources: {{{{- toYaml {values}.resources | nindent 12 }}}}",
    )
    text = once(
        text,
        f"      serviceAccountName: basalt-{role}\n",
        f"      {{{{- with {values}.pod }}}}\n      {{{{- toYaml . | nindent 6 }}}}\n      {{{{- end }}}}\n"
        f"      serviceAccountName: basalt-{role}\n",
    )
    secret = f"          secret: {{secretName: basalt-{role}-tls}}"
    text = once(
        text,
        secret,
        '          {{- if eq .Values.certificates.source "pod-certificates" }}\n'
        '          {{- include "basalt.podCertificate" . | nindent 10 }}\n'
        "          {{- else }}\n" + secret + "\n          {{- end }}",
    )
    if role != "gateway":
        text = replaced(
            text,
            r"^        resources: \{requests: \{storage: \w+\}\}$",
            f"        {{{{- with {values}.volume.storageClass }}}}\n        storageClassName: {{{{ . }}}}\n        {{{{- end }}}}\n"
            f"        resources: {{requests: {{storage: {{{{ {values}.volume.size }}}}}}}}",
        )
    return text


def helpers(deploy):
    volume = re.split(r"(?m)^          projected:$", (deploy / "certificates/pod-certificates/volume.yaml").read_text())[1]
    volume = "\n".join(line[10:] for line in volume.splitlines() if not re.match(r"\s*#", line))
    volume = re.sub(r"\s+#\s.*$", "", volume, flags=re.M)
    return (
        '{{- define "basalt.image" -}}\n'
        "{{- if .Values.image.digest -}}\n{{ .Values.image.repository }}@{{ .Values.image.digest }}\n{{- else -}}\n"
        "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\n{{- end -}}\n{{- end -}}\n"
        '{{- define "basalt.podCertificate" -}}\n'
        "{{- if .Values.prometheus.enabled }}"
        '{{- fail "prometheus.enabled: with pod certificates there is no Secret that Prometheus could take the authority from" }}'
        "{{- end }}\nprojected:" + volume + "\n{{- end -}}\n"
    )


def when(condition, text):
    return text if condition is None else f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("deploy", type=pathlib.Path, help="the folder deploy of the tree")
    parser.add_argument("out", type=pathlib.Path, help="the folder of the chart: a new one, or that of a chart of before")
    options = parser.parse_args()
    out = options.out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / "templates" / "_helpers.tpl").exists():
        raise SystemExit(f"{out} has files, and is no chart that this program wrote: name another folder")
    with tempfile.TemporaryDirectory() as work:
        write(options.deploy, pathlib.Path(work) / "chart")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(pathlib.Path(work) / "chart", out)


def write(deploy, out):
    shutil.copytree(deploy / "chart", out)
    templates = out / "templates"
    templates.mkdir()
    for name, (sources, condition) in PLAIN.items():
        objects = [part for source in sources for part in read(deploy, source)]
        (templates / name).write_text(when(condition, named(objects)))
    for role in ROLES:
        text = named(read(deploy, f"base/{role}.yaml"))
        (templates / f"{role}.yaml").write_text(workload(text, role))
    (templates / "_helpers.tpl").write_text(helpers(deploy))


main()
