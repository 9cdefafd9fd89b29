import { generateHostKey } from '../../hosts/keys.ts';
import { linesOf, pathOf, readOptions } from '../shell/tools/options.ts';
import type { Process, Program, Runner } from '../shell/process.ts';
import { AutosetupRefused, type Autosetup, readAutosetup } from './autosetup.ts';
import {
  AUTHORIZED_KEYS_PATH,
  IMAGES_PATH,
  INSTALLER_PATH,
  showDrive,
  systemTree,
} from './disk-tree.ts';
import { type NamedDrive, partitionName, wipe } from './drives.ts';
import type { EffectOf } from '../fault-rules.ts';

export interface RescueDeps {
  readonly drives: readonly NamedDrive[];
  /** How long an installation takes, in the machine's own milliseconds. */
  readonly installMs: number;
  /** What goes wrong with the installation that begins. */
  fault(): EffectOf<'installimage'>['does'] | undefined;
  /** A system is on the drives. */
  installed(): void;
}

/** What the rescue system has beside the usual programs. */
export function rescuePrograms(deps: RescueDeps): Readonly<Record<string, Program>> {
  const installer = installimage(deps);
  return {
    [INSTALLER_PATH]: installer,
    installimage: installer,
    lsblk: lsblk(deps.drives),
    wipefs: wipefs(deps.drives),
    mdadm: () => 0,
    swapoff: () => 0,
    vgchange: () => 0,
  };
}

const GB = 1e9;
const GIB = 1024 ** 3;

/** Disks, and behind each its partitions. Columns as asked for; `-d` leaves partitions out. */
const lsblk =
  (drives: readonly NamedDrive[]): Program =>
  (process) => {
    const { given, operands } = readOptions(process.args, 'o');
    const columns = (given.get('o') ?? given.get('output') ?? 'NAME,SIZE,TYPE').toUpperCase();
    const wanted = operands.map((path) => pathOf(process, path).replace('/dev/', ''));
    const shown = drives.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
    const missing = wanted.filter((name) => !drives.some((one) => one.name === name));
    for (const name of missing) process.errors(`lsblk: ${name}: not a block device\n`);
    const prefix = given.has('p') ? '/dev/' : '';
    const sizeOf = (gb: number) =>
      given.has('b') ? String(gb * GB) : `${((gb * GB) / GIB).toFixed(1)}G`;
    const row = (values: Readonly<Record<string, string>>) =>
      process.output(
        `${columns
          .split(',')
          .map((column) => values[column] ?? '')
          .join(' ')}\n`,
      );
    if (!given.has('n')) process.output(`${columns.split(',').join(' ')}\n`);
    for (const { name, drive } of shown) {
      const size = sizeOf(drive.sizeGb);
      row({ NAME: `${prefix}${name}`, WWN: drive.wwn, SIZE: size, TYPE: 'disk', MODEL: 'PLAYED' });
      const parts = given.has('d') ? 0 : drive.partitions;
      for (let number = 1; number <= parts; number++) {
        const part = partitionName(name, number);
        row({ NAME: `${prefix}${part}`, WWN: drive.wwn, SIZE: '1.0G', TYPE: 'part' });
      }
    }
    return missing.length > 0 ? 32 : 0;
  };

/** With `-a` signatures go; without, they are listed. */
const wipefs =
  (drives: readonly NamedDrive[]): Program =>
  (process) => {
    const { given, operands } = readOptions(process.args, 'o');
    for (const path of operands) {
      const name = pathOf(process, path).replace('/dev/', '');
      const found = drives.find((one) => name === one.name);
      const isPart = drives.some(({ name: disk, drive }) =>
        Array.from({ length: drive.partitions }, (_none, n) => partitionName(disk, n + 1)).includes(
          name,
        ),
      );
      if (!found && !isPart) {
        process.errors(`wipefs: error: ${path}: probing initialization failed: No such file\n`);
        return 1;
      }
      if (!found || found.drive.partitions === 0) continue;
      if (!given.has('a') && !given.has('all')) {
        process.output(`DEVICE OFFSET TYPE\n${name} 0x200 gpt\n`);
        continue;
      }
      process.output(`${path}: 8 bytes were erased at offset 0x00000200 (gpt)\n`);
      wipe(found.drive);
      showDrive(process.host.files, found);
    }
    return 0;
  };

const POST_INSTALL = '/installimage-post.sh';

function installimage(deps: RescueDeps): Program {
  return async (process, run) => {
    const { given } = readOptions(process.args, 'cxnrlipvdfstog');
    const { host, output } = process;
    const config = given.get('c') ?? '/autosetup';
    if (!given.has('a') && !given.has('c')) {
      process.errors('installimage: only automatic installations are played here\n');
      return 1;
    }
    const stop = (why: string) => {
      output(`\u001B[31m${why}\u001B[0m\nAn error occurred, see /root/debug.txt\n`);
      return 1;
    };
    const script = given.get('x');
    try {
      const setup = readAutosetup(host.files.read(pathOf(process, config)));
      const targets = targetsOf(setup, deps.drives);
      checkImage(setup, process);
      const postInstall = script === undefined ? null : host.files.read(pathOf(process, script));
      return await install({ setup, targets, postInstall, deps, process, run, stop });
    } catch (error) {
      if (error instanceof AutosetupRefused) return stop(error.message);
      throw error;
    }
  };
}

/** @throws {AutosetupRefused} */
function targetsOf(setup: Autosetup, drives: readonly NamedDrive[]): NamedDrive[] {
  const targets = setup.drives.map((path) => {
    const found = drives.find(({ name }) => `/dev/${name}` === path);
    if (!found) throw new AutosetupRefused(`${path} is not a disk of this machine`);
    return found;
  });
  const smallest = Math.min(...targets.map(({ drive }) => drive.sizeGb));
  const taken = setup.parts.reduce((sum, { sizeGb }) => sum + (sizeGb ?? 0), 0);
  if (taken > smallest) throw new AutosetupRefused('the partitions are larger than the drive');
  return targets;
}

/** @throws {AutosetupRefused} */
function checkImage({ image }: Autosetup, { host }: Process): void {
  if (/^https?:\/\//.test(image)) return;
  const path = image.startsWith('/') ? image : `${IMAGES_PATH}/${image}`;
  if (host.files.find(path)?.kind !== 'file') {
    throw new AutosetupRefused(`the image ${image} was not found`);
  }
}

interface Installing {
  readonly setup: Autosetup;
  readonly targets: readonly NamedDrive[];
  readonly postInstall: string | null;
  readonly deps: RescueDeps;
  readonly process: Process;
  readonly run: Runner;
  readonly stop: (why: string) => number;
}

async function install(work: Installing): Promise<number> {
  const { setup, targets, postInstall, deps, process, run, stop } = work;
  const { host, output } = process;
  const fault = deps.fault();
  output('Starting the installation\n');
  for (const { name, drive } of targets) {
    wipe(drive);
    showDrive(host.files, { name, drive });
  }
  await host.sleep(deps.installMs / 2);
  if (fault === 'hangs') await host.sleep(Infinity);
  if (fault === 'fails') return stop('extracting the image failed');
  await host.sleep(deps.installMs / 2);
  const system = systemTree({
    hostname: setup.hostname,
    hostKey: generateHostKey(),
    authorizedKeys: linesOf(host.files.read(AUTHORIZED_KEYS_PATH)),
  });
  if (postInstall !== null) {
    output('Executing the post-installation script\n');
    system.write(POST_INSTALL, postInstall, 0o700);
    const inside = { host: { ...host, files: system, programs: {} }, directory: '/' };
    const status = await run([POST_INSTALL], inside);
    system.remove(POST_INSTALL);
    if (status !== 0) return stop('the post-installation script failed');
  }
  if (fault === 'marksAndFails') return stop('the boot loader could not be installed');
  const bootable = setup.isRaid ? targets : targets.slice(0, 1);
  for (const target of targets) {
    target.drive.partitions = setup.parts.length;
    showDrive(host.files, target);
  }
  for (const { drive } of bootable) drive.system = system;
  deps.installed();
  output('INSTALLATION COMPLETE\nYou can now reboot and log in\n');
  return 0;
}
