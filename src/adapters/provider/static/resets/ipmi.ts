import { ProviderError, type ProviderErrorKind } from '../../../../domain/errors.ts';
import { plainText, spanText } from '../../../../lib/texts.ts';
import { runProgram, type ProgramResult } from '../../../driver-kit/program.ts';
import { createRefusal, type TokenRefusal } from '../../../driver-kit/terms.ts';
import type { DriverContext } from '../../port.ts';
import type { IpmiReset } from '../entries.ts';
import type { ResetSettings } from './settings.ts';
import {
  readSecret,
  runFailure,
  type Power,
  type PowerSwitch,
  type ResetRun,
  type SwitchAction,
} from './power-switch.ts';

const READ_POWER: ResetRun = { doing: 'cannot read the power state', changing: false };
const READ_GUID: ResetRun = { doing: 'cannot read the GUID', changing: false };

/** BMCs lock accounts that are refused repeatedly. */
const AUTH_PAUSE_MS = 10 * 60_000;
/** `cycle` is the last resort: many BMCs refuse it while the machine is off. */
const COMMANDS: Readonly<Record<SwitchAction, string>> = {
  on: 'on',
  off: 'off',
  reset: 'reset',
  cycle: 'cycle',
  graceful: 'soft',
};

type Login = Pick<ResetSettings, 'username' | 'password' | 'cipherSuite' | 'privilege'>;

/**
 * Arguments of `ipmitool`. The password is never among them: others could read it there. Without
 * `-R 1`, `ipmitool` sends a request again when its answer is lost, and the machine is reset up to
 * four times. `-v` adds why a login failed.
 */
export const ipmiArgs = (
  { username = '', cipherSuite = 17, privilege = 'operator' }: Login,
  { host, port }: Pick<IpmiReset, 'host' | 'port'>,
  changing: boolean,
): readonly string[] => [
  ...['-v', '-I', 'lanplus', '-H', host, '-p', String(port), '-U', username, '-E'],
  ...['-L', privilege.toUpperCase(), '-C', String(cipherSuite)],
  ...(changing ? ['-R', '1', '-N', '5'] : ['-R', '2', '-N', '3']),
];

/** The last refusal of a BMC, with its message. */
type LoginRefusal = TokenRefusal & { cause?: string };

/** Machines whose BMCs speak IPMI 2.0 over the network. */
export function createIpmiSwitch(
  settings: ResetSettings,
  { clock }: Pick<DriverContext, 'clock'>,
): PowerSwitch<IpmiReset> {
  const refusals = new Map<string, LoginRefusal>();
  const keyOf = ({ host, port }: IpmiReset) => `${host} ${port}`;

  async function run(
    reset: IpmiReset,
    words: readonly string[],
    { changing, ...what }: ResetRun,
    signal: AbortSignal,
  ): Promise<string> {
    const doing = `${what.doing} at ${reset.host}`;
    const password = readSecret(settings.password!);
    const refusal: LoginRefusal =
      refusals.get(keyOf(reset)) ??
      createRefusal(AUTH_PAUSE_MS, { clock, onPaused: () => undefined });
    refusals.set(keyOf(reset), refusal);
    if (refusal.holds(password)) {
      const rest = `it is asked again ${spanText(AUTH_PAUSE_MS)} later, or when the password changes`;
      throw new ProviderError('auth', `${refusal.cause}; ${rest}`);
    }
    const args = [...ipmiArgs(settings, reset, changing), ...words];
    const env = { IPMI_PASSWORD: password };
    const result = await runProgram(
      { file: 'ipmitool', args, env, timeoutMs: settings.timeout, signal },
      clock,
    ).catch((cause: unknown) => {
      throw runFailure(cause, { doing, changing }, '; is Debian’s package ipmitool installed?');
    });
    if (result.exitCode === 0) return result.stdout;
    const error = ipmiFailure(result, { doing, changing });
    if (error.kind === 'auth') {
      refusal.note(password);
      refusal.cause = error.message;
    }
    throw error;
  }

  return {
    keyOf,
    gracefulStaysOff: true,
    async read(reset, _machine, signal) {
      return powerIn(await run(reset, ['chassis', 'power', 'status'], READ_POWER, signal));
    },
    async checkIdentity(reset, { id }, signal) {
      if (reset.guid === null) return;
      const told = guidIn(await run(reset, ['mc', 'guid'], READ_GUID, signal));
      if (told === reset.guid) return;
      const message = `${reset.host} belongs to another machine than ${id}: its GUID is ${told ?? 'unknown'}`;
      throw new ProviderError('conflict', message);
    },
    async act(action, reset, _machine, signal) {
      const command = COMMANDS[action];
      const what = { doing: `cannot switch the power (${command})`, changing: true };
      await run(reset, ['chassis', 'power', command], what, signal);
    },
  };
}

/** Anything else than a clear statement is unknown. */
export const powerIn = (stdout: string): Power =>
  (/^Chassis Power is (on|off)\s*$/m.exec(stdout)?.[1] as Power | undefined) ?? 'unknown';

export const guidIn = (stdout: string): string | null =>
  /^System GUID\s*: *([0-9a-f-]{32,36})\s*$/im.exec(stdout)?.[1]?.toLowerCase() ?? null;

const NO_SESSION = /Unable to establish IPMI v2 \/ RMCP\+ session/;
/** What `ipmitool` 1.8.19 writes, and what that means. The first match counts. */
const FAILURES: readonly (readonly [RegExp, ProviderErrorKind, string])[] = [
  [
    /RAKP 2 HMAC is invalid|unauthorized name|RAKP 4 message has invalid integrity/i,
    'auth',
    'the BMC refuses the user name or the password',
  ],
  [
    /unauthorized role or privilege|invalid role|Set Session Privilege Level to \w+ failed|(Control to .*|Power Status) failed: Insufficient privilege/i,
    'auth',
    'the BMC grants this user too little privilege',
  ],
  [
    /invalid (authentication|integrity|confidentiality) algorithm|no cipher suite match/i,
    'invalid',
    'the BMC does not know this cipherSuite; old ones know only 3',
  ],
  [/insufficient resources/i, 'transient', 'all sessions of the BMC are in use'],
  [
    /failed: (Invalid command|Command not supported$|Invalid data field)/im,
    'not-implemented',
    'the BMC does not support it',
  ],
  // A BMC's own timeout leaves the outcome open.
  [/failed: (?!Timeout)\S/i, 'transient', 'the BMC refuses it at present'],
];

/** The port's error for a run of `ipmitool` with another exit status than 0. */
export function ipmiFailure(
  { stdout, stderr }: Pick<ProgramResult, 'stdout' | 'stderr'>,
  { doing, changing }: ResetRun,
): ProviderError {
  const lines = `${stderr}\n${stdout}`.split('\n').filter((line) => !NOISE.test(line));
  const text = lines.join('\n');
  const found = FAILURES.find(([pattern]) => pattern.test(text));
  if (found) return new ProviderError(found[1], `${doing}: ${found[2]}`);
  if (NO_SESSION.test(text)) return new ProviderError('transient', `${doing}: it does not answer`);
  const last = plainText(lines.findLast((line) => line.trim() !== '') ?? 'no reason', 200);
  // The session existed, so the request may have been carried out.
  const outcome = changing ? 'unknown' : 'not-done';
  return new ProviderError('transient', `${doing}: ${last}`, { outcome });
}

/** Probes that `ipmitool` makes for itself, which ordinary users may not make. */
const NOISE = /^(Get HPM\.x Capabilities|Invalid completion code received)/;
