import { type Answer, type Call, type Route, subjectOf } from '../core.ts';
import type { Server } from '../world.ts';
import { textField } from './form.ts';
import { serverNotFound } from './robot-error.ts';
import { placeOf, serverDetail, serverView } from './views.ts';

const LATE_MS = 30_000;
const CUT_LENGTH = 20;

const ok = (body: unknown): Answer => ({ status: 200, body });

function list(call: Call): Answer {
  const shown = call.core.servers.filter((server) => !call.strikeOf(server, 'serverGone'));
  if (shown.length === 0) throw serverNotFound();
  return ok(shown.map((server) => ({ server: serverView(call, server) })));
}

function rename(call: Call): Answer {
  const server = call.server();
  const wanted = textField(call.form, 'server_name').slice(0, call.core.nameLength);
  const fault = call.strike('rename');
  if (fault?.does !== 'ignored') {
    server.name = fault?.does === 'cut' ? wanted.slice(0, fault.length ?? CUT_LENGTH) : wanted;
    if (fault?.does === 'late') showLater(call, server, fault.ms ?? LATE_MS);
    else server.shownName = server.name;
  }
  const answer = ok({ server: serverDetail(call, server) });
  const taken = call.strike('nameTaken');
  if (taken) server.name = server.shownName = taken.name;
  return answer;
}

function showLater({ core }: Call, server: Server, afterMs: number): void {
  core.clock.setTimeout(() => {
    server.shownName = server.name;
  }, afterMs);
}

function cancellation(call: Call): Answer {
  const server = call.server();
  return ok({
    cancellation: {
      ...placeOf(server),
      server_name: server.shownName,
      earliest_cancellation_date: server.paidUntil,
      cancelled: server.cancelled,
      reservation_possible: false,
      reserved: false,
      cancellation_date: server.cancelled ? server.paidUntil : null,
      cancellation_reason: server.cancelled ? null : ['Upgrade to a new server', 'Other'],
    },
  });
}

export const SERVER_ROUTES: readonly Route[] = [
  { path: '/server', GET: list },
  {
    path: '/server/{n}',
    GET: (call) => ok({ server: serverDetail(call, call.server()) }),
    POST: rename,
  },
  { path: '/server/{n}/cancellation', GET: cancellation },
];

/** The server of a path. @throws {RobotError} 404. */
export function serverOf({ servers, faults }: Call['core'], text: string | undefined): Server {
  const server = servers.find(({ number }) => String(number) === text);
  if (!server) throw serverNotFound();
  const isGone = faults.strikeOne(
    ['serverGone'],
    subjectOf(server),
    ({ from }) => from === 'account',
  );
  if (isGone) throw serverNotFound();
  return server;
}
