import { explain, FleetError, UsageError } from '../../domain/errors.ts';
import { columnLines, timeText } from '../layout.ts';
import type { LogLevels, Sessions } from './answers.ts';
import { createClient, type Client } from './client.ts';
import { EXIT_FAILED, interruptOf } from './failures.ts';
import type { Session, CommandOutput } from './session.ts';

export interface LogLevelFlags {
  readonly component?: string;
  /** Milliseconds. */
  readonly for: number;
  /** Every daemon that is alive, each through its own console. */
  readonly all: boolean;
}

/** What one daemon answered, or why it did not answer. */
interface DaemonLevels {
  readonly sessionId: string | null;
  readonly console: string | null;
  readonly levels: LogLevels | null;
  readonly failure: string | null;
}

/**
 * `shepherd log level`: shows the log level of daemons, or changes it for a limited time. With `all` every
 * daemon is asked, whatever the others answer. Exit status 1: a daemon failed.
 */
export async function logLevel(
  session: Session,
  { component, for: forMs, all }: LogLevelFlags,
  level?: string,
): Promise<CommandOutput> {
  const { client, signal } = session;
  const body = { level, component: component ?? null, forMs };
  const ask = (each: Client) =>
    level === undefined
      ? each.get<LogLevels>('/log/level')
      : each.send<LogLevels>('PUT', '/log/level', { body });
  if (!all) {
    const levels = await ask(client);
    const answered = { console: client.transport.where, levels, sessionId: null, failure: null };
    return { document: levels, text: tableOf([answered]) };
  }
  const found = await livingDaemons(client);
  const daemons = await Promise.all(
    found.map(async (daemon): Promise<DaemonLevels> => {
      const about = { sessionId: daemon.sessionId, console: daemon.consoleUrl };
      try {
        return { ...about, levels: await ask(clientOf(daemon, found, session)), failure: null };
      } catch (error) {
        if (!signal.aborted && !(error instanceof FleetError)) throw error;
        return { ...about, levels: null, failure: explain(error) };
      }
    }),
  );
  if (signal.aborted) throw interruptOf(signal);
  const isWhole = daemons.every(({ failure }) => failure === null);
  return { document: { daemons }, text: tableOf(daemons), exitCode: isWhole ? 0 : EXIT_FAILED };
}

type LivingDaemon = Sessions['sessions'][number];

/** Sessions of daemons that have not ended. */
export const livingDaemons = async (client: Client): Promise<readonly LivingDaemon[]> =>
  (await client.get<Sessions>('/sessions')).sessions.filter(
    ({ component, endedAtMs }) => ['shepherd', 'srv'].includes(component) && endedAtMs === null,
  );

/**
 * A client of the daemon's own console: a token is valid at every daemon of the fleet.
 * @throws {UsageError} the console cannot be told apart, or the token must not be sent there.
 */
export function clientOf(
  daemon: LivingDaemon,
  all: readonly LivingDaemon[],
  { client, signal }: Pick<Session, 'client' | 'signal'>,
): Client {
  const { consoleUrl } = daemon;
  if (consoleUrl === null) throw new UsageError('the daemon has no console');
  if (all.some((each) => each !== daemon && each.consoleUrl === consoleUrl)) {
    throw new UsageError(
      'another daemon has the same console address; run this on its host, or give it its own console.url',
    );
  }
  if (daemon.isSelf) return client;
  if (!isSafe(consoleUrl, client.transport.where)) {
    throw new UsageError(
      'the token would be sent unencrypted, or to another program; run this on its host, or give its ' +
        'console https and console.url',
    );
  }
  return createClient(client.transport.elsewhere(consoleUrl), signal);
}

function tableOf(daemons: readonly DaemonLevels[]): string {
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

/** Whether a token may go to an address that a daemon gave of itself: over TLS, or to the same origin. */
function isSafe(consoleUrl: string, ours: string): boolean {
  const { protocol, origin } = new URL(consoleUrl);
  return protocol === 'https:' || origin === new URL(ours).origin;
}
