/**
 * Machines that are not this one, as conditions that the suite runs under. Each says what is different, how its tests are
 * started, and which files cannot run there, by rules that have a reason.
 *
 * - `shell`: lines of `sh` that root runs first, in a view of the file system of its own; `$SCRATCH` is an empty folder.
 * - `after`: a line that ends what `shell` has started.
 * - `environment`: variables of the tests; `folder` is where the checkout is, `scratch` a folder that the condition may fill.
 * - `uid`: the user who runs them.
 * - `checkout`: another path of the checkout, below the scratch folder.
 * - `also`: names that further files begin with, which this condition alone concerns.
 * - `leftOut`: patterns of files and why they do not run. `without` is a text that files name which need what is missing.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';

const here = import.meta.dirname;

/**
 * The parts of the suite that meet the machine: commands, files, printed times, volumes, nodes. Names of files begin with
 * one of these. What else meets it (processes, streams, engines) is tried by name, `--in src/node/process`, and joins
 * when it passes under all conditions.
 */
export const folders = [
  ...['cli', 'program'].map((name) => `src/${name}/`),
  ...['config', 'doctor', 'manifests', 'named', 'shared'].map((name) => `src/cluster/${name}/`),
  ...['agent/agent.test', 'agent/node-registration', 'logs/', 'volumes/'].map((name) => `src/node/${name}`),
  ...['cli/cli.refused', 'cli/doctor', 'wire/create', 'wire/watch'].map((name) => `test/${name}`),
];

/** What no condition runs: it is the machine itself that is tried, another version, or a bench. */
export const everywhere = [[/\.release\.test\.ts$/, 'the part suites runs it, with long rounds']];

/** @type {Record<string, {says: string, needs?: () => string | undefined, also?: string[], shell?: string, after?: string, uid?: number, checkout?: string,
 *   environment?: (places: {scratch: string, folder: string}) => Record<string, string>, leftOut: [RegExp, string][]}>} */
export const conditions = {
  proc: {
    says: 'without /proc',
    shell: 'mount -t tmpfs none /proc',
    leftOut: [],
  },
  user: {
    says: 'without root',
    uid: 65_534,
    leftOut: [],
  },
  busybox: {
    says: 'no programs but those of busybox, Node and kubectl',
    shell: `
      busybox=$(command -v busybox); node=$(readlink -f "$(command -v node)"); kubectl=$(command -v kubectl || :)
      mkdir "$SCRATCH/bin"; mount -t tmpfs none "$SCRATCH/bin"; cp "$busybox" "$SCRATCH/bin"
      "$busybox" --install -s "$SCRATCH/bin"; for link in "$SCRATCH"/bin/*; do [ ! -L "$link" ] || ln -sf busybox "$link"; done
      touch "$SCRATCH/bin/node"; mount --bind "$node" "$SCRATCH/bin/node"
      if [ "$kubectl" ]; then touch "$SCRATCH/bin/kubectl"; mount --bind "$(readlink -f "$kubectl")" "$SCRATCH/bin/kubectl"; fi
      mount --rbind "$SCRATCH/bin" /usr/bin; PATH=/usr/bin
      for folder in /usr/sbin /usr/local/bin /usr/local/sbin; do [ ! -d $folder ] || busybox mount -t tmpfs none $folder; done`,
    environment: () => ({ PATH: '/usr/bin' }),
    leftOut: [],
  },
  zone: {
    says: 'the time zone of the Chatham Islands, and Turkish, in which I is not the capital of i',
    environment: () => ({ TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' }),
    leftOut: [],
  },
  names: {
    says: 'the checkout and temporary folders in paths with spaces, brackets and letters of other scripts',
    checkout: "Wherry's Boot (ä ß 你)",
    environment: ({ scratch }) => ({ TMPDIR: path.join(scratch, 'tmp é 船') }),
    leftOut: [],
  },
  case: {
    says: 'temporary folders in a file system whose names are the same in capitals and small letters',
    needs: () =>
      existsSync('/usr/bin/lowntfs-3g') && existsSync('/dev/fuse') ? undefined : 'ntfs-3g and FUSE',
    shell: `
      truncate -s 2G "$SCRATCH/disk"; PATH="$PATH:/usr/sbin"; mkntfs -q -F -Q "$SCRATCH/disk" >/dev/null
      lowntfs-3g -o ignore_case,permissions "$SCRATCH/disk" "$SCRATCH/tmp"; chmod 1777 "$SCRATCH/tmp"`,
    after: 'umount "$SCRATCH/tmp"',
    environment: ({ scratch }) => ({ TMPDIR: path.join(scratch, 'tmp') }),
    leftOut: [
      [
        /^src\/node\/volumes\/atomic-folder/,
        'files that are open while they are removed stay for a moment in FUSE',
      ],
    ],
  },
  crlf: {
    says: "YAML that is written, read and sent has Windows' ends of lines",
    also: [
      ...['authentication/oidc', 'authentication/token-webhook'].map((name) => `src/access/${name}`),
      ...['cluster/start.test', 'node/runtime/images', 'recorder/dump/', 'recorder/source/'].map(
        (name) => `src/${name}`,
      ),
      ...['access/configuration', 'apply/', 'envtest/flags', 'kubectl/objects', 'kubectl/storage'],
      ...['beginning', 'cli.test', 'corpus', 'desk', 'embedding', 'named'].map((name) => `cli/${name}`),
      ...['observe/audit-modes', 'recorder/dumps', 'storage/encryption'],
      ...['testing/fixtures', 'testing/lifecycles', 'testing/state'],
      ...['wire/bodies', 'wire/negotiation', 'wire/null-elements', 'wire/numbers', 'wire/reviews'],
    ].map((name) => (name.startsWith('src/') ? name : `test/${name}`)),
    environment: () => ({
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${JSON.stringify(path.join(here, 'crlf.cjs'))}`,
    }),
    leftOut: [],
  },
  darwin: {
    says: 'the code for macOS',
    environment: () => ({ WHERRY_AS_PLATFORM: 'darwin' }),
    leftOut: [],
  },
  win32: {
    says: 'the code for Windows, with programs that stand in for its own',
    environment: () => ({
      WHERRY_AS_PLATFORM: 'win32',
      PATH: `${path.join(here, 'windows')}:${process.env.PATH}`,
    }),
    leftOut: [
      [
        /^src\/node\/(?:process|runtime\/process)\//,
        'processes of Linux: /proc, groups, signals and namespaces',
      ],
      [/^src\/node\/agent\/agent\.process/, 'ends processes gracefully, by signals'],
    ],
  },
};
