import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../domain/errors.ts';
import { createSecret } from '../settings/secret.ts';
import { jsonLine, printableLines } from './layout.ts';

interface ProbeFlags {
  readonly login: boolean;
  readonly username: string;
  readonly passwordFile?: string;
  readonly certSha256?: string;
  readonly timeout: number;
  readonly json: boolean;
}

const HELP = `
Without --login no credentials are sent: only the certificate and the service's root are looked at, which
need none. With it the password comes from --password-file, which only its owner may read, or from the
environment's REDFISH_PASSWORD, and is sent only where an authority of this system vouches for the
certificate, or --cert-sha256 names it.`;

/** Adds `redfish` and its commands: what somebody does who puts a rack into an inventory. */
export function addRedfishCommands(cli: Command): void {
  cli
    .command('redfish')
    .description('look at BMCs that speak Redfish')
    .command('probe <url>')
    .description('show the certificate of a BMC, and what is behind it')
    .option('--login', 'log in, and show its systems', false)
    .option('--username <name>', 'who logs in', 'root')
    .option('--password-file <file>', 'file with the password')
    .option('--cert-sha256 <hex>', 'what the certificate must be for a login', hashOf)
    .option('--timeout <seconds>', 'limit of one request', secondsOf, 10)
    .option('--json', 'print one line of JSON', false)
    .addHelpText('after', HELP)
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
}

function bmcOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === 'https:' && /^https:\/\/[^\s/?#@]+\/?$/i.test(text)) return url.origin;
  throw new UsageError('give the BMC as https://host or https://host:port, without path and login');
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
