import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import {
  undeclaredOperations,
  undeclaredQuery,
  undeclaredStatuses,
  type Allowance,
} from './allowances.ts';
import { inputs } from './inputs.ts';
import { operations, type Operation } from './operations.ts';
import { resources } from './resources.ts';
import { judgeBody, type Hearing } from './values.ts';

/** What was judged so far. */
export interface Tally {
  replies: number;
  /** Replies that a fault rule made or spoiled: only their requests are judged. */
  injected: number;
  /** Requests of our own client. */
  requests: number;
  /** Values of declared fields. */
  values: number;
  readonly operations: Set<string>;
  /** As `Device.hostname`. */
  readonly fields: Set<string>;
  readonly allowances: Set<Allowance>;
}

export const emptyTally = (): Tally => ({
  replies: 0,
  injected: 0,
  requests: 0,
  values: 0,
  operations: new Set(),
  fields: new Set(),
  allowances: new Set(),
});

/** The daemon and its commands say who they are; tests that knock at the door do not. */
const isOurs = ({ userAgent }: Exchange): boolean => userAgent.startsWith('shepherd');

/**
 * Judges one exchange with the emulator by the published description: its reply, and its request if
 * our client sent it. Answers what is wrong; empty is good.
 */
export function judge(exchange: Exchange, tally: Tally): string[] {
  const problems: string[] = [];
  const { method, route, status } = exchange;
  const hearing = {
    allow: (name: Allowance) => void tally.allowances.add(name),
    refuse: (problem: string) =>
      void problems.push(`${method} ${route ?? exchange.path} ${status}: ${problem}`),
  };
  const operation = operationOf(exchange, hearing.allow);
  if (isOurs(exchange)) {
    tally.requests++;
    judgeRequest(exchange, operation, hearing);
  }
  if (exchange.isInjected) tally.injected++;
  else {
    tally.replies++;
    judgeReply(exchange, operation, hearing, tally);
  }
  return problems;
}

type Verdicts = Pick<Hearing, 'allow' | 'refuse'>;

/** Undefined: there is no such operation. */
function operationOf({ method, route }: Exchange, allow: Hearing['allow']): Operation | undefined {
  const name = `${method} ${route}`;
  if (operations[name]) return operations[name];
  const known = Object.entries(undeclaredOperations).find(([one]) => one === name)?.[1];
  if (known) allow(known.allowance);
  const put = method === 'PATCH' ? operations[`PUT ${route}`] : undefined;
  if (put) allow('patch');
  return known ?? put;
}

function judgeReply(
  exchange: Exchange,
  operation: Operation | undefined,
  verdicts: Verdicts,
  tally: Tally,
): void {
  const { method, route, status, reply } = exchange;
  const name = `${method} ${route}`;
  const hearing: Hearing = {
    ...verdicts,
    table: resources,
    include: namesOf(exchange.query['include']),
    exclude: namesOf(exchange.query['exclude']),
    isReply: true,
    met: (field) => {
      tally.values++;
      tally.fields.add(field);
    },
    excuse: (field, state) => (field === 'Device.state' ? excuseOf(exchange, state) : undefined),
  };
  if (!operation && route === null && (status === 404 || status === 405)) {
    verdicts.allow('noSuchRoute');
    judgeBody(hearing, 'Error', parsed(reply));
    return;
  }
  if (!operation) return verdicts.refuse('the operation is not declared');
  tally.operations.add(name);
  if (!operation.statuses.includes(status)) judgeStatus(name, status, verdicts);
  const type = status >= 400 ? 'Error' : operation.reply;
  if (status === 202 || status === 204 || type === undefined) {
    if (reply !== '') verdicts.refuse(`the body is to be empty and is ${reply.slice(0, 80)}`);
  } else judgeBody(hearing, type, parsed(reply));
}

function judgeStatus(name: string, status: number, { allow, refuse }: Verdicts): void {
  const put = name.replace(/^PATCH /, 'PUT ');
  const found = undeclaredStatuses.find((one) => one.status === status && one.operations.test(put));
  if (found) allow(found.allowance);
  else refuse('the status is not declared');
}

/** A state that the service does not list, and a test put a device into. */
function excuseOf({ forcedStates }: Exchange, state: unknown): Allowance | undefined {
  return typeof state === 'string' && forcedStates.has(state) ? 'forcedState' : undefined;
}

function judgeRequest(
  exchange: Exchange,
  operation: Operation | undefined,
  verdicts: Verdicts,
): void {
  if (!operation) return verdicts.refuse('our client asks for an operation that is not declared');
  const name = `${exchange.method} ${exchange.route}`;
  for (const parameter of Object.keys(exchange.query)) {
    if (operation.query.split(' ').includes(parameter)) continue;
    const found = undeclaredQuery.find(
      ({ names, operations: of }) => names.includes(parameter) && of.test(name),
    );
    if (found) verdicts.allow(found.allowance);
    else verdicts.refuse(`our client sends the undeclared query parameter ${parameter}`);
  }
  judgeSent(exchange, operation, verdicts);
}

function judgeSent({ body }: Exchange, operation: Operation, verdicts: Verdicts): void {
  if (operation.body === undefined) {
    if (body !== undefined) verdicts.refuse('our client sends a body where none is declared');
    return;
  }
  const found = typesOf(operation.body, body, verdicts).map((type) => {
    const problems: string[] = [];
    const hearing: Hearing = {
      table: inputs,
      include: NONE,
      exclude: NONE,
      isReply: false,
      allow: verdicts.allow,
      refuse: (problem) => void problems.push(problem),
      met: () => undefined,
      excuse: () => undefined,
    };
    judgeBody(hearing, type, body);
    return problems;
  });
  const least = found.toSorted((a, b) => a.length - b.length)[0]!;
  for (const problem of least) verdicts.refuse(`our client's request: ${problem}`);
}

/** The inputs that a body may be: that of a reservation's device needs no place. */
function typesOf(declared: string, body: unknown, { allow }: Verdicts): string[] {
  const isPlaced = (one: object) => 'metro' in one || 'facility' in one;
  if (!declared.startsWith('DeviceCreateIn') || typeof body !== 'object' || body === null) {
    return declared.split(' | ');
  }
  if (isPlaced(body) || !('hardware_reservation_id' in body) || !body.hardware_reservation_id) {
    return declared.split(' | ');
  }
  allow('noLocation');
  return ['DeviceCreateInput'];
}

const NONE: ReadonlySet<string> = new Set();
const namesOf = (list: string | undefined): ReadonlySet<string> =>
  list === undefined ? NONE : new Set(list.split(',').map((name) => name.trim()));

/** The body as JSON; the text itself when it is none, which then has the wrong type. */
function parsed(reply: string): unknown {
  try {
    return JSON.parse(reply);
  } catch {
    return reply === '' ? undefined : reply;
  }
}
