import { parseArgs } from 'node:util';
import type { InMemoryFs } from 'just-bash';
import { generateHostKey } from '../../hosts/keys.ts';
import type { RobotEffectOf } from '../api.ts';
import { AutosetupRefused, type Autosetup, readAutosetup } from './autosetup.ts';
import {
  AUTHORIZED_KEYS_PATH,
  type Drive,
  IMAGES_PATH,
  partitionsOf,
  systemTree,
  type Tree,
  wipe,
} from './disk.ts';
import { type Program, said } from './shell.ts';

/** Programs that reboot or power off a machine. */
export function powerPrograms(power: {
  reboot(): void;
  powerOff(): void;
}): Readonly<Record<string, Program>> {
  const act = (isReboot: boolean) => {
    if (isReboot) power.reboot();
    else power.powerOff();
    return said();
  };
  return {
    reboot: () => act(true),
    poweroff: () => act(false),
    shutdown: (args) => act(args.includes('-r')),
    systemctl: ([verb]) =>
      verb === 'reboot' || verb === 'poweroff' ? act(verb === 'reboot') : said(),
  };
}

export interface RescueDeps {
  readonly drives: readonly Drive[];
  /** Files of the rescue system. */
  readonly files: InMemoryFs;
  /** Duration of an installation, in the machine's milliseconds. */
  readonly installMs: number;
  sleep(ms: number): Promise<void>;
  /** Fault of the starting installation. */
  fault(): RobotEffectOf<'installimage'>['does'] | undefined;
  /** Runs the final script inside a new system. */
  runInside(
    system: Tree,
    path: string,
  ): Promise<{ readonly stdout: string; readonly exitCode: number }>;
  /** A system is now on the drives. */
  installed(system: Tree): void;
}

/** The rescue system's additional programs. */
export const rescuePrograms = (deps: RescueDeps): Readonly<Record<string, Program>> => ({
  installimage: installimage(deps),
  lsblk: lsblk(deps.drives),
  wipefs: wipefs(deps.drives),
  mdadm: () => said(),
  vgchange: () => said(),
});

const FLAG = { type: 'boolean' } as const;
const VALUE = { type: 'string' } as const;
const nameOf = (path: string) => path.replace(/^\/dev\//, '');

/** Disks, each followed by its partitions, with the requested columns; `-d` omits partitions. */
const lsblk =
  (drives: readonly Drive[]): Program =>
  (args) => {
    const options = {
      nodeps: { ...FLAG, short: 'd' },
      noheadings: { ...FLAG, short: 'n' },
      output: { ...VALUE, short: 'o', default: 'NAME,TYPE' },
    } as const;
    const { values, positionals } = parseArgs({ args, options, strict: false });
    const wanted = positionals.map(nameOf);
    const missing = wanted.find((name) => !drives.some((one) => one.name === name));
    if (missing !== undefined) return said('', 32, `lsblk: ${missing}: not a block device\n`);
    const columns = String(values.output).toUpperCase().split(',');
    const rows = drives
      .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
      .flatMap((one) => [
        { NAME: one.name, WWN: one.wwn, TYPE: 'disk' },
        ...(values.nodeps ? [] : partitionsOf(one)).map((name) => ({
          ...{ NAME: name, WWN: one.wwn, TYPE: 'part' },
        })),
      ])
      .map((row: Readonly<Record<string, string>>) => columns.map((column) => row[column] ?? ''));
    const shown = values.noheadings ? rows : [columns, ...rows];
    return said(shown.map((row) => `${row.join(' ')}\n`).join(''));
  };

/** Removes signatures, whatever options are given. */
const wipefs =
  (drives: readonly Drive[]): Program =>
  (args) => {
    for (const path of args.filter((arg) => !arg.startsWith('-'))) {
      const name = nameOf(path);
      const found = drives.find((one) => one.name === name);
      if (found) wipe(found);
      else if (!drives.some((one) => partitionsOf(one).includes(name))) {
        return said('', 1, `wipefs: error: ${path}: probing initialization failed\n`);
      }
    }
    return said();
  };

const POST_INSTALL = '/installimage-post.sh';

function installimage(deps: RescueDeps): Program {
  return async (args, { fs, cwd }) => {
    const options = {
      auto: { ...FLAG, short: 'a' },
      config: { ...VALUE, short: 'c', default: '/autosetup' },
      post: { ...VALUE, short: 'x' },
    } as const;
    const { values } = parseArgs({ args, options, strict: false });
    if (!values.auto) return said('', 1, 'installimage: only automatic installations are played\n');
    const read = (path: unknown) => fs.readFile(fs.resolvePath(cwd, String(path)));
    try {
      const setup = readAutosetup(await read(values.config));
      const targets = targetsOf(setup, deps.drives);
      await checkImage(setup, deps.files);
      const postInstall = values.post === undefined ? null : await read(values.post);
      return said(await install({ setup, targets, postInstall }, deps));
    } catch (error) {
      if (!(error instanceof AutosetupRefused)) throw error;
      return said(`${error.message}\nAn error occurred, see /root/debug.txt\n`, 1);
    }
  };
}

/** @throws {AutosetupRefused} */
function targetsOf(setup: Autosetup, drives: readonly Drive[]): Drive[] {
  const targets = setup.drives.map((path) => {
    const found = drives.find(({ name }) => `/dev/${name}` === path);
    if (!found) throw new AutosetupRefused(`${path} is not a disk of this machine`);
    return found;
  });
  const smallest = Math.min(...targets.map(({ sizeGb }) => sizeGb));
  const taken = setup.parts.reduce((sum, { sizeGb }) => sum + (sizeGb ?? 0), 0);
  if (taken > smallest) throw new AutosetupRefused('the partitions are larger than the drive');
  return targets;
}

/** @throws {AutosetupRefused} */
async function checkImage({ image }: Autosetup, files: InMemoryFs): Promise<void> {
  if (/^https?:\/\//.test(image)) return;
  const isThere = await files.exists(files.resolvePath(IMAGES_PATH, image));
  if (!isThere) throw new AutosetupRefused(`the image ${image} was not found`);
}

interface Installing {
  readonly setup: Autosetup;
  readonly targets: readonly Drive[];
  readonly postInstall: string | null;
}

/** @returns the output. @throws {AutosetupRefused} it failed. */
async function install(
  { setup, targets, postInstall }: Installing,
  deps: RescueDeps,
): Promise<string> {
  const fault = deps.fault();
  targets.forEach(wipe);
  await deps.sleep(deps.installMs / 2);
  if (fault === 'hangs') await deps.sleep(Infinity);
  if (fault === 'fails') throw new AutosetupRefused('extracting the image failed');
  await deps.sleep(deps.installMs / 2);
  const keys = (await deps.files.readFile(AUTHORIZED_KEYS_PATH)).split('\n').filter(Boolean);
  const system = systemTree({ hostname: setup.hostname, hostKey: generateHostKey() }, keys);
  let printed = 'Starting the installation\n';
  if (postInstall !== null) {
    system.files.writeFileSync(POST_INSTALL, postInstall, 'utf8', { mode: 0o700 });
    const { stdout, exitCode } = await deps.runInside(system, POST_INSTALL);
    printed += stdout;
    await system.files.rm(POST_INSTALL);
    const failed = `${printed}the post-installation script failed`;
    if (exitCode !== 0) throw new AutosetupRefused(failed);
  }
  if (fault === 'marksAndFails') {
    throw new AutosetupRefused(`${printed}the boot loader could not be installed`);
  }
  for (const drive of targets) drive.partitions = setup.parts.length;
  for (const drive of setup.isRaid ? targets : targets.slice(0, 1)) drive.system = system;
  deps.installed(system);
  return `${printed}INSTALLATION COMPLETE\nYou can now reboot and log in\n`;
}
