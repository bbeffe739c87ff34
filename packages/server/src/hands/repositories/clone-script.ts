/** Ways for the script to end that are not git's own. */
export const CLONE_EXITS = {
  /** Nothing could be fetched. */
  fetch: 12,
  /** There is no such branch or commit. */
  checkout: 13,
  /** Its files are too many or too large. */
  size: 14,
  /** Its files could not be written. */
  files: 15,
  noGit: 16,
} as const;

export const TREE_FOLDER = "/workspace/tree";
export const ARCHIVE_PATH = "/mnt/session/.spill/tree.tar";

/**
 * Clones a repository and packs it, `.git` and files, into one archive. Arguments: the repository's URL, the
 * URL that it is read through, `full` or `shallow`, `default`, `branch` or `commit`, its name or hash, the
 * largest number of files, of bytes in them, and of bytes in the archive. It prints the commit.
 *
 * Whatever the repository holds, git runs no program for it: no hook, filter, file system monitor or
 * submodule, and no protocol but the one to the gate. The size of the files is known before one is written.
 */
export const CLONE_SCRIPT = `
set -u -o pipefail
url=$1 gate=$2 depth=$3 kind=$4 ref=$5 files=$6 bytes=$7 archive=$8
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=/bin/false
export GIT_ALLOW_PROTOCOL=http GIT_LFS_SKIP_SMUDGE=1 GIT_ADVICE=0
git() {
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c credential.helper= \\
    -c "url.$gate.insteadOf=$url" -c http.followRedirects=false -c submodule.recurse=false \\
    -c fetch.recurseSubmodules=false -c gc.auto=0 -c maintenance.auto=false "$@"
}
command -v git >/dev/null || exit ${CLONE_EXITS.noGit}
rm -rf ${TREE_FOLDER} ${ARCHIVE_PATH}
case $depth.$kind in
  full.*) git clone --quiet --no-checkout --template= -- "$url" ${TREE_FOLDER} || exit ${CLONE_EXITS.fetch} ;;
  shallow.default)
    git clone --quiet --no-checkout --template= --depth 1 -- "$url" ${TREE_FOLDER} || exit ${CLONE_EXITS.fetch} ;;
  *)
    git init --quiet --template= ${TREE_FOLDER} || exit ${CLONE_EXITS.fetch}
    git -C ${TREE_FOLDER} remote add origin "$url" || exit ${CLONE_EXITS.fetch} ;;
esac
cd ${TREE_FOLDER} || exit ${CLONE_EXITS.fetch}
case $kind in
  default)
    at=HEAD
    if ! git rev-parse --quiet --verify 'HEAD^{commit}' >/dev/null; then
      [ -z "$(git for-each-ref --count=1 refs/remotes)" ] || exit ${CLONE_EXITS.checkout}
      at=
    fi ;;
  branch)
    at=refs/remotes/origin/$ref
    if [ "$depth" = shallow ]; then
      git fetch --quiet --depth 1 origin "+refs/heads/$ref:$at" || exit ${CLONE_EXITS.checkout}
    fi
    git rev-parse --quiet --verify "$at^{commit}" >/dev/null || exit ${CLONE_EXITS.checkout} ;;
  commit)
    at=$ref
    if [ "$depth" = shallow ]; then
      git fetch --quiet --depth 1 origin "$ref" || exit ${CLONE_EXITS.checkout}
    elif ! git cat-file -e "$ref^{commit}" 2>/dev/null; then
      git fetch --quiet origin "$ref" || exit ${CLONE_EXITS.checkout}
    fi
    git rev-parse --quiet --verify "$ref^{commit}" >/dev/null || exit ${CLONE_EXITS.checkout} ;;
esac
if [ -n "$at" ]; then
  git ls-tree -r -l "$at" | head --lines $((files + 1)) | perl -ane '
    BEGIN { ($files, $bytes) = splice @ARGV, 0, 2 }
    $bytes -= $F[3] =~ /^\\d+$/ ? $F[3] : 0; $files--;
    END { exit($files < 0 || $bytes < 0) }' "$files" "$bytes"
  [ "\${PIPESTATUS[2]}" = 0 ] || exit ${CLONE_EXITS.size}
  case $kind in
    default) git reset --quiet --hard ;;
    branch) git checkout --quiet --force -B "$ref" --track "$at" ;;
    commit) git checkout --quiet --force --detach "$at" ;;
  esac || exit ${CLONE_EXITS.files}
  git rev-parse HEAD
fi
rm -f .git/FETCH_HEAD
tar --create --file - --owner 0 --group 0 --numeric-owner . | head --bytes $((archive + 1)) > ${ARCHIVE_PATH}
packed=("\${PIPESTATUS[@]}")
[ "$(stat --format %s ${ARCHIVE_PATH})" -le "$archive" ] || exit ${CLONE_EXITS.size}
[ "\${packed[*]}" = "0 0" ] || exit ${CLONE_EXITS.files}
`;
