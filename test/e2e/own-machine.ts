import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import ssh2 from 'ssh2';
import { newHostKey } from '../adapters/ssh/sshd.ts';

/** A disk of a machine, and what its SMART data say. */
export interface OwnDisk {
  readonly serial: string;
  readonly isFailing: boolean;
}

/**
 * A Linux machine with OpenSSH on this computer's kernel. Its processes, boot id, disk and programs
 * are its own.
 */
export interface OwnMachine {
  readonly address: string;
  readonly port: number;
  readonly bootId: string;
  /** As in `ssh_host_ed25519_key.pub`. */
  readonly hostKey: string;
  /** Puts this disk into it, instead of the last one. */
  setDisk(disk: OwnDisk): void;
  /** Ends all its processes. */
  stop(): Promise<void>;
}

export interface OwnMachineOptions {
  /** For its files. */
  readonly dir: string;
  /** Of 127.0.0.0/8. */
  readonly address: string;
  readonly port: number;
  /** Line of `authorized_keys`. */
  readonly authorizedKey: string;
  readonly disk: OwnDisk;
}

/** Where agents belong on such a machine. */
export const AGENT_PATH = '/mnt/agent';

/** Whether this process is root, as such machines need. Otherwise the run says what it left out. */
export function mayMakeMachines(): boolean {
  if (spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0) return true;
  process.stderr.write('NOT TESTED: only root can mount the disks and programs of a machine\n');
  return false;
}

/**
 * Runs as the first process of its namespaces, until its input ends: then the kernel ends all
 * others, too.
 */
const INIT = `
mount -t proc proc /proc
mount --bind "$MACHINE/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$MACHINE/block" /sys/class/block
mount --bind "$MACHINE/programs" /usr/local/sbin
mount --bind "$MACHINE/home" /mnt
mkdir -p /run/sshd
/usr/sbin/sshd -D -e -f "$MACHINE/sshd_config" </dev/null &
cat
exit
`;

/** The agent's call; any other is refused, as by the real program. */
const SMARTCTL = `#!/bin/sh
here=/usr/local/sbin
if [ "$*" != '--json=c --info --health --attributes --log=error /dev/sda' ]; then
  echo "smartctl: unexpected arguments: $*" >&2
  exit 1
fi
cat $here/smartctl.json
exit "$(cat $here/smartctl.status)"
`;

/** @throws {Error} sshd does not start. */
export async function startOwnMachine(options: OwnMachineOptions): Promise<OwnMachine> {
  const { dir, address, port } = options;
  const bootId = randomUUID();
  const hostKey = newHostKey();
  const write = (name: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text, { mode });
  };
  const setDisk = (disk: OwnDisk) => {
    for (const [name, text] of Object.entries({ ...DISK, 'device/serial': disk.serial })) {
      write(`block/sda/${name}`, `${text}\n`);
    }
    const smart = smartOf(disk);
    write('programs/smartctl.status', String(smart.smartctl.exit_status));
    write('programs/smartctl.json', JSON.stringify(smart));
  };
  setDisk(options.disk);
  write('boot_id', `${bootId}\n`);
  write('programs/smartctl', SMARTCTL, 0o755);
  mkdirSync(join(dir, 'home'), { mode: 0o700 });
  write('host_key', hostKey, 0o600);
  write('authorized_keys', `${options.authorizedKey}\n`);
  write('sshd_config', sshdConfig(options));
  const init = spawn('unshare', ['--mount', '--pid', '--fork', 'sh', '-euc', INIT], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH, MACHINE: dir },
  });
  const ended = once(init, 'exit');
  const log: string[] = [];
  const listening = new Promise<boolean>((resolve) => {
    createInterface(init.stderr).on('line', (line) => {
      log.push(line);
      if (line.startsWith('Server listening on')) resolve(true);
    });
    void ended.then(() => resolve(false));
  });
  if (!(await listening)) throw new Error(`sshd does not start: ${log.join('; ')}`);
  return {
    ...{ address, port, bootId, setDisk },
    hostKey: `ssh-ed25519 ${publicHalf(hostKey)}`,
    async stop() {
      init.stdin.end();
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A SATA disk, as sysfs shows it. */
const DISK = {
  size: '1953525168',
  ro: '0',
  'queue/rotational': '1',
  'queue/logical_block_size': '512',
  'queue/physical_block_size': '4096',
  'device/vendor': 'ATA',
  'device/model': 'WDC WD1003FBYX-0',
};

/** Bits of smartctl(8): the disk is failing, and an attribute is below its threshold. */
const FAILING_STATUS = 0b0001_1000;

/** As smartctl 7.3 prints it (`json_format_version` 1.0), without what nobody reads. */
const smartOf = ({ serial, isFailing }: OwnDisk) => ({
  ...{ json_format_version: [1, 0], serial_number: serial },
  smartctl: { version: [7, 3], exit_status: isFailing ? FAILING_STATUS : 0 },
  device: { name: '/dev/sda', info_name: '/dev/sda [SAT]', type: 'sat', protocol: 'ATA' },
  ...{ smart_support: { available: true, enabled: true }, smart_status: { passed: !isFailing } },
  ata_smart_attributes: {
    revision: 16,
    table: [
      attribute(5, 'Reallocated_Sector_Ct', isFailing ? 535 : 0, isFailing),
      attribute(9, 'Power_On_Hours', 16_402),
      attribute(197, 'Current_Pending_Sector', isFailing ? 8 : 0),
      attribute(198, 'Offline_Uncorrectable', 0),
    ],
  },
});

const attribute = (id: number, name: string, raw: number, hasFailed = false) => ({
  ...{ id, name, value: hasFailed ? 133 : 200, worst: hasFailed ? 133 : 200, thresh: 140 },
  when_failed: hasFailed ? 'now' : '',
  raw: { value: raw, string: String(raw) },
});

const sshdConfig = ({ dir, address, port }: OwnMachineOptions): string =>
  [
    `ListenAddress ${address}:${port}`,
    `HostKey ${join(dir, 'host_key')}`,
    `AuthorizedKeysFile ${join(dir, 'authorized_keys')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    `SetEnv HOME=/mnt PATH=${dirname(process.execPath)}:${PATH}`,
    'Subsystem sftp internal-sftp',
    '',
  ].join('\n');

function publicHalf(pem: string): string {
  const key = ssh2.utils.parseKey(pem);
  if (key instanceof Error) throw key;
  return key.getPublicSSH().toString('base64');
}
