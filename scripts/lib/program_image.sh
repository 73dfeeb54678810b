# Sourced by scripts that need images for tests: puts programs of this machine with the libraries that they link into an
# image.

# program_image ARCHIVE IMAGE PROGRAM…: writes an image with the programs in /usr/bin as an archive for `ctr images import`. A
# container that names no command runs the first program. Busybox gets links by the names of its tools.
program_image() (
  archive=$1 image=$2
  shift 2
  work=$(mktemp -d -t basalt-image-XXXXXX)
  trap 'rm -rf --one-file-system "$work"' EXIT
  mkdir -p "$work/files"/{usr/bin,usr/lib/x86_64-linux-gnu,usr/lib64,etc,tmp,var/lib/basalt}
  ln -s usr/bin "$work/files/bin"
  ln -s usr/lib "$work/files/lib"
  ln -s usr/lib64 "$work/files/lib64"
  for program in "$@"; do
    install -m 755 "$program" "$work/files/usr/bin/"
    # A statically linked program has no libraries.
    { ldd "$program" 2>/dev/null | grep -oE '/(usr/)?lib[^ ]+' || true; } | while read -r library; do
      install -D -m 755 "$library" "$work/files$library"
    done
    [[ ${program##*/} != busybox ]] || for tool in $("$program" --list); do
      [[ $tool == busybox ]] || ln -s busybox "$work/files/usr/bin/$tool"
    done
  done
  printf 'root:x:0:0::/:/bin/sh\nbasalt:x:65532:65532::/tmp:/bin/sh\n' >"$work/files/etc/passwd"
  chown 65532:65532 "$work/files/var/lib/basalt"
  chmod 1777 "$work/files/tmp"
  image_store() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
  container=$(image_store from --quiet scratch)
  image_store copy --quiet "$container" "$work/files" / >/dev/null
  image_store config --env PATH=/usr/bin --entrypoint '[]' --cmd "[\"/usr/bin/${1##*/}\"]" "$container"
  image_store commit --quiet "$container" "$image" >/dev/null
  rm -f "$archive"
  image_store push --quiet "$image" "docker-archive:$archive:$image"
)
