import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../domain/errors.ts';
import { createSecret } from '../settings/secret.ts';
import { examples } from './help.ts';
import { jsonLine, printableLines } from './layout.ts';
import { jsonOption } from './remote/flags.ts';

interface ProbeFlags {
  readonly login: boolean;
  readonly username: string;
  readonly passwordFile?: string;
  readonly certSha256?: string;
  readonly timeout: number;
  readonly json: boolean;
}

const HELP = `
Without --login the command sends no credentials. It looks at the certificate and at the root of the
service, which anybody may read. With --login the password comes from --password-file, which only its
owner may read, or from REDFISH_PASSWORD. The command sends the password only if an authority of this
system signed the certificate, or if --cert-sha256 names the certificate.`;

/** Adds `redfish` and its commands, for people who put a rack into an inventory. */
export function addRedfishCommands(cli: Command): void {
  const redfish = cli.command('redfish').description('Look at BMCs, and build what they boot');
  addBuild(redfish);
  const probing = redfish
    .command('probe')
    .argument('<url>', 'Address of the BMC: https://host or https://host:port')
    .description('Show the certificate of a BMC and the systems behind it')
    .option('--login', 'Log in, and show the systems', false)
    .option('--username <name>', 'User name of the login', 'root')
    .option('--password-file <file>', 'File with the password')
    .option(
      '--cert-sha256 <hex>',
      'SHA-256 of the certificate that is accepted for a login',
      hashOf,
    )
    .option('--timeout <seconds>', 'Limit for each request', secondsOf, 10)
    .addOption(jsonOption())
    .action(async (url: string, flags: ProbeFlags) => {
      const { probe, probeText } = await import('./redfish-probe.ts');
      const told = await probe({
        url: bmcOf(url),
        timeoutMs: flags.timeout * 1_000,
        login: flags.login ? loginOf(flags) : null,
        certSha256: flags.certSha256 ?? null,
      });
      const text = flags.json ? jsonLine(told) : printableLines(probeText(told));
      process.stdout.write(`${text.trimEnd()}\n`);
    });
  examples(
    probing,
    'shepherd redfish probe https://10.1.0.17',
    'shepherd redfish probe https://10.1.0.17 --login --password-file bmc.secret --cert-sha256 "$SUM"',
  ).addHelpText('after', HELP);
}

interface BuildFlags {
  readonly deb?: string;
  readonly root: string;
  readonly module: readonly string[];
  readonly append: string;
  readonly json: boolean;
}

const BUILD_HELP = `
The directory gets installer.iso, linux and initrd, and kexec if it is installed here. Set providers.<name>.install.installer to it. The
kernel is Debian's, from --deb or from this system. Nothing needs root.`;

const NO_KEXEC =
  'no kexec.tgz, which machines without kexec need to reinstall themselves; on Debian: apt-get install kexec-tools';

function addBuild(redfish: Command): void {
  const building = redfish
    .command('build-iso')
    .argument('<directory>', 'Where the files go')
    .description('Build the installer that writes an image onto a machine')
    .option('--deb <file>', 'Debian package of a kernel: linux-image-<version>-amd64')
    .option('--root <directory>', 'Take the newest kernel of this system', '/')
    .option('--module <name>', 'Add a kernel module; may be repeated', collect, [])
    .option('--append <words>', 'More words for the kernel command line', '')
    .addOption(jsonOption())
    .action(async (directory: string, { deb, module, json, ...rest }: BuildFlags) => {
      const { buildInstaller } = await import('./installer/build-installer.ts');
      const { kernel, files, missing } = await buildInstaller({
        ...rest,
        directory,
        deb: deb ?? null,
        modules: module,
      });
      const lines = files.map(({ path, sizeBytes }) => `${path}  ${Math.ceil(sizeBytes / 1e6)} MB`);
      const lack = missing.length > 0 ? [`not in this kernel: ${missing.join(', ')}`] : [];
      const next = [
        ...(files.some(({ path }) => path.endsWith('.tgz')) ? [] : [NO_KEXEC]),
        `next: set providers.<name>.install.installer to ${resolve(directory)}`,
      ];
      const text = [`kernel ${kernel}`, ...lack, ...lines, ...next].join('\n');
      process.stdout.write(`${json ? jsonLine({ kernel, files, missing }).trimEnd() : text}\n`);
    });
  examples(
    building,
    'shepherd redfish build-iso /var/lib/shepherd/installer',
    'shepherd redfish build-iso installer --deb linux-image-6.1.0-57-amd64_6.1.192-3_amd64.deb',
  ).addHelpText('after', BUILD_HELP);
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function bmcOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === 'https:' && /^https:\/\/[^\s/?#@]+\/?$/i.test(text)) return url.origin;
  throw new UsageError(
    'give the address of the BMC as https://host or https://host:port, without path and user',
  );
}

function loginOf({ username, passwordFile }: ProbeFlags) {
  const reference = passwordFile === undefined ? '${REDFISH_PASSWORD}' : `file:${passwordFile}`;
  const around = { env: process.env, baseDirectory: process.cwd(), checkFiles: true };
  return { username, password: createSecret(reference, around).read() };
}

function hashOf(text: string): string {
  const hash = text.replaceAll(':', '').toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hash)) return hash;
  throw new InvalidArgumentError('Give 64 hex digits.');
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 600) return seconds;
  throw new InvalidArgumentError('Give a number of seconds from 1 to 600.');
}
