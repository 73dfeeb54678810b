"""Makes jobs, and renders them with basaltctl."""

import json
import os
import subprocess
import tempfile


def task(name, replicas, command=("sleep", "infinity"), env=None, container="main", **spec):
    """Returns a task with one container. `spec` has other fields of the pod."""
    main = {"name": container, "image": "image", "command": list(command)}
    if env:
        main["env"] = [{"name": key, "value": value} for key, value in env.items()]
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [main], **spec}}}


def render(name, plugins, tasks):
    """Returns all objects of that job, as `basaltctl job render` prints them."""
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "volcano", "queue": "default", "plugins": plugins, "tasks": tasks},
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(job, file)
        file.flush()
        command = [os.environ["BASALTCTL"], "job", "render", "-f", file.name, "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)["items"]
