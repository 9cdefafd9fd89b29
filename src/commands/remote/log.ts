import { explain, FleetError, UsageError } from '../../domain/errors.ts';
import { columnLines, timeText } from '../layout.ts';
import type { LogLevels, Sessions } from './answers.ts';
import { createClient, type Client, type Door } from './client.ts';
import { EXIT_FAILED, interruptOf } from './failures.ts';
import type { Session, Told } from './session.ts';

export interface LogLevelFlags {
  readonly component?: string;
  /** Milliseconds. */
  readonly for: number;
  /** Every daemon that is alive, each by its own console. */
  readonly all: boolean;
}

/** What one daemon answered, or why it did not. */
interface Answered {
  readonly sessionId: string | null;
  readonly console: string | null;
  readonly levels: LogLevels | null;
  readonly failure: string | null;
}

/**
 * `shepherd log level`: what daemons write into their logs; with a level, have them write that for a
 * while. Of several each is asked, whatever becomes of the others; 1: one of them failed.
 */
export async function logLevel(
  session: Session,
  { component, for: forMs, all }: LogLevelFlags,
  level?: string,
): Promise<Told> {
  const { client, signal } = session;
  const body = { level, component: component ?? null, forMs };
  const ask = (each: Client) =>
    level === undefined
      ? each.get<LogLevels>('/log/level')
      : each.send<LogLevels>('PUT', '/log/level', { body });
  if (!all) {
    const levels = await ask(client);
    const answered = { console: client.door.where, levels, sessionId: null, failure: null };
    return { document: levels, text: tableOf([answered]) };
  }
  const lines = await living(client);
  const daemons = await Promise.all(
    lines.map(async (line): Promise<Answered> => {
      const isShared = lines.some((each) => each !== line && each.consoleUrl === line.consoleUrl);
      if (line.consoleUrl === null || !isShared) return asked(line, ask, session);
      return { ...aboutOf(line), levels: null, failure: SHARED };
    }),
  );
  if (signal.aborted) throw interruptOf(signal);
  const isWhole = daemons.every(({ failure }) => failure === null);
  return { document: { daemons }, text: tableOf(daemons), exitCode: isWhole ? 0 : EXIT_FAILED };
}

type Line = Sessions['sessions'][number];

const aboutOf = ({ sessionId, consoleUrl }: Line) => ({ sessionId, console: consoleUrl });

/** Which of them would answer, nobody knows. */
const SHARED =
  'another daemon is behind the same address; ask it on its host, or by a console.url of its own';

const living = async (client: Client): Promise<readonly Line[]> =>
  (await client.get<Sessions>('/sessions')).sessions.filter(
    ({ component, endedAtMs }) => ['shepherd', 'srv'].includes(component) && endedAtMs === null,
  );

/** Asks one daemon at its own console: tokens are good for every daemon of the fleet. */
async function asked(
  line: Line,
  ask: (client: Client) => Promise<LogLevels>,
  { client: { door }, signal }: Session,
): Promise<Answered> {
  const about = aboutOf(line);
  try {
    const own = ownDoor(line.consoleUrl, door);
    const levels = await ask(createClient(own, signal));
    return { ...about, levels, failure: null };
  } catch (error) {
    if (!signal.aborted && !(error instanceof FleetError)) throw error;
    return { ...about, levels: null, failure: explain(error) };
  }
}

/** @throws {UsageError} the token must not go there, or nobody knows where that is. */
function ownDoor(consoleUrl: string | null, door: Door): Door {
  if (consoleUrl !== null && !isSafe(consoleUrl, door.where)) {
    throw new UsageError(
      'a token would travel there in clear or to another program; run this on its host, or give its ' +
        'console https and console.url',
    );
  }
  if (consoleUrl === null) throw new UsageError('it tells no console');
  return door.elsewhere(consoleUrl);
}

function tableOf(daemons: readonly Answered[]): string {
  const rows = daemons.flatMap(({ console, sessionId, levels, failure }) => {
    const who = console ?? `session ${sessionId}`;
    if (levels === null) return [[who, '', 'FAILED', failure ?? '']];
    return [
      [who, 'usual', levels.usual, ''],
      ...levels.changes.map((each) => [
        ...[who, each.component ?? 'all', each.level],
        `until ${timeText(each.untilMs)}`,
      ]),
    ];
  });
  return columnLines([['console', 'component', 'level', ''], ...rows]).join('\n');
}

/** Whether a token may go to an address that a daemon told of itself: by TLS, or where it goes anyway. */
function isSafe(consoleUrl: string, ours: string): boolean {
  const { protocol, origin } = new URL(consoleUrl);
  return protocol === 'https:' || origin === new URL(ours).origin;
}
