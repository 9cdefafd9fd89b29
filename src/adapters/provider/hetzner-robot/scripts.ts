import { INSTANCE_SECRET_PATH, type Tags } from '../../../domain/provisioning/provider-tags.ts';

/**
 * The only way of putting text into a shell script: quoted as one literal word.
 * @throws {RangeError} the text contains a NUL, which no shell supports.
 */
export function shellWord(text: string): string {
  if (text.includes('\0')) throw new RangeError('a shell word cannot contain a NUL');
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Everything about one installation. */
export interface RescueInstallation {
  readonly witness: string;
  readonly shortWitness: string;
  readonly hostname: string;
  /** A file in the image folder, or an https URL. */
  readonly image: Image;
  /** All drives, or WWNs. */
  readonly drives: 'all' | readonly string[];
  /** installimage lines; null: the default layout. */
  readonly layout: readonly string[] | null;
  /** OpenSSH line of the only permitted key. */
  readonly publicKey: string;
  /** First-boot script. Secret. */
  readonly initCommand: string;
  readonly tags: Tags;
}
export type Image = { readonly file: string } | { readonly url: string };

/** Its place in the rescue system; the images are beside its folder. */
export const INSTALLER = '/root/.oldroot/nfs/install/installimage';
const IMAGES = '/root/.oldroot/nfs/images';

/** Null if the image is downloaded. */
export const imagePath = (image: Image): string | null =>
  'file' in image ? `${IMAGES}/${image.file}` : null;

const PARTITIONS = ['PART /boot ext4 1G', 'PART / ext4 all'];

/**
 * Shell lines that append everything but the drives to `/autosetup`. The number of drives is known
 * only on the machine, in `$count`; it decides whether the default layout has a RAID.
 */
export function autosetupTail({ hostname, image, layout }: RescueInstallation): string {
  const lines = layout ?? PARTITIONS;
  const raid = lines.filter((line) => /^SWRAID/i.test(line));
  const parts = lines.filter((line) => !/^SWRAID/i.test(line));
  const source = imagePath(image) ?? ('url' in image ? image.url : '');
  const usualRaid = `if [ "$count" -gt 1 ]; then
  printf 'SWRAID 1\\nSWRAIDLEVEL 1\\n' >> /autosetup
else
  printf 'SWRAID 0\\n' >> /autosetup
fi`;
  return [
    raid.length > 0 ? add(raid) : usualRaid,
    add([`HOSTNAME ${hostname}`, ...(parts.length > 0 ? parts : PARTITIONS), `IMAGE ${source}`]),
  ].join('\n');
}

const add = (lines: readonly string[]): string =>
  `printf '%s\\n' ${lines.map(shellWord).join(' ')} >> /autosetup`;

/**
 * Scripts that run on a machine by `sh -s`: they go through stdin, so that no process list shows
 * them. Plain POSIX, because the rescue system may have any shell.
 */

/** CAPH's proof of a complete installation. */
export const MARKER = 'POST_INSTALL_SCRIPT_FINISHED';
/** Where an installed system keeps its creation key and tags. */
const INSTALLATION = '/var/lib/shepherd/installation';
const FIRST_BOOT = '/var/lib/shepherd/first-boot.sh';
const UNIT = 'shepherd-first-boot.service';
/** Exit codes of the start script, different from a shell's own. */
export const NO_INSTALLER = 44;
export const NO_IMAGE = 45;
export const ALREADY_BEGUN = 46;

/** Created only once in the life of a rescue system, so that a second installer finds it. */
export const guardPath = (shortWitness: string): string => `/root/shepherd-${shortWitness}`;

/**
 * A script for stdin that a shell runs whole or not at all. If the connection breaks during
 * sending, the group has no end, and the shell runs nothing of it.
 */
export const whole = (script: string): string => `{\n${script}\n}\n`;

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

/**
 * Identifies the system that answers. Prints `hostname`, `boot`, and if present `guard` (tags),
 * `ended` (result of an installation), `other` (another installation), `installed` (creation key
 * and tags of our system) and `secret` (SHA-256 of the instance secret). Changes nothing.
 */
export const lookScript = (shortWitness: string): string => `
say() { printf '%s %s\\n' "$1" "$2"; }
guard=${shellWord(guardPath(shortWitness))}
say hostname "$(hostname)"
say boot "$(cat /proc/sys/kernel/random/boot_id)"
for each in /root/shepherd-*; do
  if [ -d "$each" ] && [ "$each" != "$guard" ]; then say other "\${each##*/}"; fi
done
if [ -d "$guard" ]; then
  say guard "$(cat "$guard/tags" 2>/dev/null)"
  if [ -f "$guard/ended" ]; then say ended "$(cat "$guard/ended")"; fi
fi
if [ -f ${INSTALLATION} ]; then say installed "$(cat ${INSTALLATION})"; fi
if [ -f ${INSTANCE_SECRET_PATH} ]; then
  say secret "$(sha256sum < ${INSTANCE_SECRET_PATH} | cut -d ' ' -f 1)"
fi
exit 0
`;

/** Reboots a moment after the answer. */
export const rebootScript = (): string => `
nohup sh -c 'sleep 1; reboot' > /dev/null 2>&1 < /dev/null &
exit 0
`;

/** Last lines of an installation's log, without lines of the first-boot script. */
export const logScript = (shortWitness: string): string => `
guard=${shellWord(guardPath(shortWitness))}
tail -n 50 "$guard/log" 2>/dev/null | grep -vF -f "$guard/hidden"
exit 0
`;

/**
 * Prepares the installation and starts it, unless one with this creation key has begun. Prints
 * `started`. Exits with `NO_INSTALLER` or `NO_IMAGE` and lists what exists instead, or with
 * `ALREADY_BEGUN`.
 */
export function startScript(installation: RescueInstallation): string {
  const { shortWitness, image, initCommand, tags } = installation;
  const guard = guardPath(shortWitness);
  const files = [
    ['tags', base64(tags)],
    ['hidden', hiddenLines(initCommand).join('\n')],
    ['post-install.sh', postInstallScript(installation)],
    ['install.sh', installScript(installation)],
  ] as const;
  const found = imagePath(image);
  const imageCheck =
    found === null
      ? ''
      : `if [ ! -f ${shellWord(found)} ]; then
  printf 'there is no image %s; there are:\\n' ${shellWord(found)} >&2
  ls "$(dirname ${shellWord(found)})" >&2
  exit ${NO_IMAGE}
fi
`;
  return `
umask 077
trap '' HUP
if [ ! -x ${INSTALLER} ]; then
  printf 'there is no %s; there are:\\n' ${INSTALLER} >&2
  ls "$(dirname ${INSTALLER})" /root/.oldroot/nfs >&2
  exit ${NO_INSTALLER}
fi
${imageCheck}guard=${shellWord(guard)}
mkdir "$guard" 2>/dev/null || exit ${ALREADY_BEGUN}
${files.map(([name, text]) => `printf '%s\\n' ${shellWord(text)} > "$guard/${name}"`).join('\n')}
chmod 700 "$guard/install.sh" "$guard/post-install.sh"
nohup sh "$guard/install.sh" > "$guard/log" 2>&1 < /dev/null &
printf 'started\\n'
exit 0
`;
}

/**
 * Fixed-text patterns: the first-boot script's lines and their longer words, one of which is a
 * secret. An empty pattern would hide every line.
 */
const hiddenLines = (initCommand: string): string[] => {
  const lines = initCommand.split('\n').map((line) => line.trim());
  const words = initCommand.split(/\s+/).filter(({ length }) => length >= HIDDEN_WORD_MIN);
  return [...new Set([...lines.filter(({ length }) => length >= HIDDEN_LINE_MIN), ...words])];
};
const HIDDEN_LINE_MIN = 8;
const HIDDEN_WORD_MIN = 12;

/**
 * Runs installimage. Reboots only if the new system's last script ran to its end and installimage
 * reported no error; otherwise the log stays.
 */
function installScript(installation: RescueInstallation): string {
  const { shortWitness } = installation;
  return `
umask 077
guard=${shellWord(guardPath(shortWitness))}
cd "$guard" || exit 1
end() {
  printf '%s\\n' "$1" > "$guard/ended.new"
  mv "$guard/ended.new" "$guard/ended"
}
fail() {
  printf '%s\\n' "$1"
  end failed
  exit 1
}
${drivesPart(installation)}
${autosetupTail(installation)}
${INSTALLER} -a -c /autosetup -x "$guard/post-install.sh"
status=$?
grep -q ${shellWord(`^${MARKER}$`)} "$guard/log" || fail 'the last script of the new system did not end'
[ "$status" -eq 0 ] || fail "installimage ended with $status"
end finished
sync
reboot
`;
}

const NAMES = 'sd* | nvme* | vd* | hd*';

/** Writes one DRIVE line per drive; looks up WWNs, because names change between boots. */
function drivesPart({ drives }: RescueInstallation): string {
  if (drives === 'all') {
    return `
count=0
: > /autosetup
for name in $(lsblk -dno NAME); do
  case $name in ${NAMES}) ;; *) continue ;; esac
  count=$((count + 1))
  printf 'DRIVE%s /dev/%s\\n' "$count" "$name" >> /autosetup
done
[ "$count" -gt 0 ] || fail 'there is no drive'`;
  }
  return `
count=0
: > /autosetup
for wwn in ${drives.map(shellWord).join(' ')}; do
  found=
  for name in $(lsblk -dno NAME); do
    case $name in ${NAMES}) ;; *) continue ;; esac
    if [ "$(lsblk -dno WWN "/dev/$name" | tr -d ' ')" = "$wwn" ]; then found=$name; fi
  done
  [ -n "$found" ] || fail "there is no drive $wwn"
  count=$((count + 1))
  printf 'DRIVE%s /dev/%s\\n' "$count" "$found" >> /autosetup
done`;
}

/**
 * Runs inside the new system, before its first boot. Permits only our key, lets the first boot run
 * the order's script once, and stores creation key and tags. One command per line, so that the
 * simplest shell can run it.
 */
export function postInstallScript(installation: RescueInstallation): string {
  const { publicKey, initCommand, tags, witness } = installation;
  const unit = [
    '[Unit]',
    'Description=First boot of a Shepherd machine',
    `ConditionPathExists=${FIRST_BOOT}`,
    'Before=ssh.service sshd.service',
    '[Service]',
    'Type=oneshot',
    `ExecStart=/bin/sh ${FIRST_BOOT}`,
    `ExecStartPost=/bin/rm -f ${FIRST_BOOT}`,
  ];
  return [
    '#!/bin/sh',
    'set -e',
    'umask 0077',
    'mkdir -p /root/.ssh',
    writeLines([publicKey], '/root/.ssh/authorized_keys'),
    `mkdir -p ${FIRST_BOOT.slice(0, FIRST_BOOT.lastIndexOf('/'))}`,
    writeLines(initCommand.split('\n'), FIRST_BOOT),
    writeLines([base64({ witness, tags })], INSTALLATION),
    'umask 0022',
    'mkdir -p /etc/systemd/system/multi-user.target.d',
    writeLines(unit, `/etc/systemd/system/${UNIT}`),
    writeLines(
      ['[Unit]', `Wants=${UNIT}`],
      '/etc/systemd/system/multi-user.target.d/shepherd.conf',
    ),
    `printf '%s\\n' ${shellWord(MARKER)}`,
    '',
  ].join('\n');
}

const writeLines = (lines: readonly string[], path: string): string =>
  `printf '${'%s\\n'.repeat(lines.length)}' ${lines.map(shellWord).join(' ')} > ${shellWord(path)}`;

/**
 * Removes all signatures from all drives, in a rescue system without an installation. Prints
 * `wiped` and the number of drives. Exits with 1 if a signature is left, or there is no drive.
 */
export const wipeScript = (): string => `
for each in /root/shepherd-*; do
  if [ -d "$each" ]; then printf 'an installation was begun in this rescue system\\n' >&2; exit 1; fi
done
swapoff -a 2>/dev/null
if command -v vgchange > /dev/null; then vgchange -an > /dev/null 2>&1; fi
if command -v mdadm > /dev/null; then mdadm --stop --scan > /dev/null 2>&1; fi
count=0
for name in $(lsblk -dno NAME); do
  case $name in ${NAMES}) ;; *) continue ;; esac
  for part in $(lsblk -nlo NAME "/dev/$name"); do
    if [ "$part" = "$name" ] || [ ! -b "/dev/$part" ]; then continue; fi
    wipefs -a -f "/dev/$part" > /dev/null || exit 1
  done
  wipefs -a -f "/dev/$name" > /dev/null || exit 1
  count=$((count + 1))
done
sync
if [ "$count" -eq 0 ]; then printf 'there is no drive\\n' >&2; exit 1; fi
printf 'wiped %s\\n' "$count"
exit 0
`;

/** Output of the look script; unknown lines are skipped. */
export interface RescueReading {
  readonly hostname: string;
  readonly bootId: string;
  /** Null: no installation with this creation key has begun in this system. */
  readonly guard: { readonly tags: Tags | null; readonly ended: string | null } | null;
  /** Another installation was begun here. */
  readonly isOthers: boolean;
  /** Null: we did not install the system. */
  readonly installed: { readonly witness: string; readonly tags: Tags } | null;
  readonly secretHash: string | null;
}

export function readLook(text: string): RescueReading {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(' ');
    if (at > 0) values.set(line.slice(0, at), line.slice(at + 1).trim());
  }
  const guard = values.get('guard');
  const installed = readBase64(values.get('installed'));
  return {
    hostname: values.get('hostname') ?? '',
    bootId: values.get('boot') ?? '',
    guard:
      guard === undefined
        ? null
        : { tags: readTags(readBase64(guard)), ended: values.get('ended') ?? null },
    isOthers: values.has('other'),
    installed: readInstalled(installed),
    secretHash: values.get('secret') ?? null,
  };
}

function readBase64(text: string | undefined): unknown {
  if (text === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString());
  } catch {
    return null;
  }
}

function readTags(value: unknown): Tags | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const entries = Object.entries(value);
  return entries.every(([, text]) => typeof text === 'string') ? Object.fromEntries(entries) : null;
}

function readInstalled(value: unknown): RescueReading['installed'] {
  const { witness, tags } = (value ?? {}) as {
    readonly witness?: unknown;
    readonly tags?: unknown;
  };
  const read = readTags(tags);
  return typeof witness === 'string' && read ? { witness, tags: read } : null;
}
