import { z } from 'zod';
import { ProviderError, type ProviderErrorKind } from '../../../../domain/errors.ts';
import { plainText } from '../../../../lib/texts.ts';
import { runProgram, type ProgramResult } from '../../../driver-kit/program.ts';
import type { DriverContext } from '../../port.ts';
import type { ProgramReset } from '../entries.ts';
import {
  readSecret,
  runFailure,
  type Power,
  type PowerSwitch,
  type ResetRun,
  type SwitchAction,
} from './power-switch.ts';
import type { ResetSettings } from './settings.ts';

/** The answer of a program, one JSON object. `error`: it changed nothing. */
const Answer = z.union([
  z.object({ error: z.string() }),
  z.object({ power: z.enum(['on', 'off', 'unknown']) }),
]);

/** Exit statuses after which nothing was changed, from `sysexits.h`; 1 and others may mean anything. */
const NOT_DONE: Readonly<Record<number, ProviderErrorKind>> = {
  64: 'not-implemented', // EX_USAGE: it does not know the action
  75: 'transient', // EX_TEMPFAIL
  77: 'auth', // EX_NOPERM
};
const TEXT_MAX = 300;

/** Machines that a program of the operator's switches. */
export function createProgramSwitch(
  { command = [], env = {}, timeout: timeoutMs }: ResetSettings,
  { clock }: Pick<DriverContext, 'clock'>,
): PowerSwitch<ProgramReset> {
  const [file = '', ...args] = command;

  async function run(
    action: SwitchAction | 'status',
    { data }: ProgramReset,
    { id, address: addr }: { readonly id: string; readonly address: string },
    signal: AbortSignal,
  ): Promise<Power> {
    const what = { doing: `${action} of ${id}`, changing: action !== 'status' };
    const input = `${JSON.stringify({ ...data, action, id, addr })}\n`;
    const secrets = Object.entries(env).map(([name, secret]) => [name, readSecret(secret)]);
    const its = Object.fromEntries(secrets) as Record<string, string>;
    const result = await runProgram(
      { file, args, env: its, input, timeoutMs, signal },
      clock,
    ).catch((cause: unknown) => {
      throw runFailure(cause, what);
    });
    return answerIn(result, what);
  }

  return {
    keyOf: (_reset, { id }) => id,
    gracefulStaysOff: false,
    read: (reset, host, signal) => run('status', reset, host, signal),
    act: async (action, reset, host, signal) => void (await run(action, reset, host, signal)),
  };
}

/** The power that a program reports. @throws {ProviderError} */
export function answerIn(
  { exitCode, stdout, stderr }: ProgramResult,
  { doing, changing }: ResetRun,
): Power {
  const answer = parse(stdout);
  if (exitCode === 0 && answer && 'power' in answer) return answer.power;
  const told = answer && 'error' in answer ? answer.error : stderr.trim();
  const text = told === '' ? '' : `: ${plainText(told, TEXT_MAX)}`;
  if (exitCode === 0) {
    if (answer) throw new ProviderError('transient', `${doing}${text}`);
    const message = `${doing}: the program's answer is not {"power": …} or {"error": …}${text}`;
    throw new ProviderError('permanent', message, { outcome: changing ? 'unknown' : 'not-done' });
  }
  const kind = NOT_DONE[exitCode ?? -1];
  const how = exitCode === null ? 'was killed' : `ended with status ${exitCode}`;
  throw new ProviderError(kind ?? 'transient', `${doing}: the program ${how}${text}`, {
    outcome: kind === undefined && changing ? 'unknown' : 'not-done',
  });
}

function parse(stdout: string): z.output<typeof Answer> | null {
  try {
    return Answer.parse(JSON.parse(stdout));
  } catch {
    return null;
  }
}
