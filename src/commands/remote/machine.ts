import { NotFound, UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { factLines, timeText, told, untilText, whenText, type LabelledValue } from '../layout.ts';
import type {
  Acceptance,
  Cases,
  Explanation,
  History,
  Machine,
  RequestList,
  Request,
} from './answers.ts';
import { conditionText } from './conditions.ts';
import { findNamed, named, pathOf } from './names.ts';
import type { Session, CommandOutput } from './session.ts';
import { fingerprintOf } from '../../adapters/ssh/port.ts';
import { isDerived } from '../../domain/conditions.ts';
import { LINE_FIELD_NAMES, lineField } from '../../domain/line-fields.ts';
import { fromText } from '../../lib/texts.ts';

const LAST_REQUESTS = 10;
/** History lines to search for messages of the agent. */
const LINES_READ = 1_000;

interface NameFlags {
  readonly exact: boolean;
}

/** `shepherd machine show`: everything about one machine, or about a slot without a machine. */
export async function showMachine(
  { client }: Session,
  { exact }: NameFlags,
  name: string,
): Promise<CommandOutput> {
  const { slot } = await named(client, name, exact);
  const path = pathOf(slot);
  const [machine, explanation, { requests }, { lines }] = await Promise.all([
    client.get<Machine>(path),
    client.get<Explanation>(`${path}/explanation`),
    client.get<RequestList>('/requests', { slot, limit: LAST_REQUESTS }),
    client.get<History>(`${path}/history`, { limit: LINES_READ }),
  ]);
  const checks = machine.acceptance
    ? (await client.get<Acceptance>(`${path}/acceptance`)).checks
    : [];
  const { cases } = await client.get<Cases>('/cases', { slot, state: 'open' });
  const whole = { machine, explanation, requests, lines, checks, cases };
  return {
    ...{ document: { ...machine, explanation }, names: [slot] },
    text: (width) => factLines(machineFacts(whole), width),
  };
}

/** `shepherd machine explain`: why a machine is in its state, and what would end that. */
export async function explainMachine(
  { client }: Session,
  { exact }: NameFlags,
  name: string,
): Promise<CommandOutput> {
  const { slot } = await named(client, name, exact);
  const found = await client.get<Explanation>(`${pathOf(slot)}/explanation`);
  const { next } = found;
  const facts: LabelledValue[] = [
    ['slot', slot],
    ...whyFacts(found),
    ['next', next.atMs === null ? next.text : `${next.text} (${timeText(next.atMs)})`],
  ];
  return {
    ...{ document: { slot, ...found }, names: [slot] },
    text: (width) => factLines(facts, width),
  };
}

export interface HistoryFlags extends NameFlags {
  /** At most this many lines, the latest ones. */
  readonly limit: number;
}

/** `shepherd machine history`: what happened to a machine, oldest first. A machine that is gone keeps its history. */
export async function showHistory(
  session: Session,
  flags: HistoryFlags,
  name: string,
): Promise<CommandOutput> {
  const { of, lines } = await historyOf(name, flags, session);
  if (lines.length === 0)
    throw new NotFound(`${of} has no history; "shepherd machines" lists all machines`);
  return {
    ...{ document: { of, lines }, rows: lines, names: [of] },
    text: (width) => factLines(lines.map(inWords), width),
  };
}

/** An unknown name may be the ID of a machine that is gone, or a former slot. */
async function historyOf(name: string, { exact, limit }: HistoryFlags, { client }: Session) {
  const found = isUuid(name) ? null : await findNamed(client, name, exact);
  const ofMachine = isUuid(name) ? name : null;
  if (ofMachine === null && found === null && !/^[^/]+\/./.test(name)) {
    throw new UsageError(
      `no machine is named "${name}"; for a machine that is gone, give its ID or its slot (PROVIDER/SLOT-ID)`,
    );
  }
  const of = ofMachine ?? found?.slot ?? name;
  const answer =
    ofMachine === null
      ? await client.get<History>(`${pathOf(of)}/history`, { limit })
      : await client.get<History>('/history', { machine: ofMachine, limit });
  return { of, lines: answer.lines.toReversed() };
}

function inWords(line: History['lines'][number]): LabelledValue {
  const { of, kind, process, actor, from, to, reason } = line;
  const what = of === 'work' ? `${process} ${kind}` : kind;
  const change = from === null && to === null ? '' : `, ${from ?? '-'} → ${to ?? '-'}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return [timeText(line.atMs), `${actor ?? '-'} ${what}${change}${why}`];
}

/** All answers of the API about one machine. */
interface MachineWhole {
  readonly machine: Machine;
  readonly explanation: Explanation;
  /** Open and finished requests, newest first. */
  readonly requests: readonly Request[];
  /** Newest first. */
  readonly lines: History['lines'];
  /** Of its acceptance. */
  readonly checks: Acceptance['checks'];
  /** The open ones. */
  readonly cases: Cases['cases'];
}

/** Everything that a person needs to know about a machine. */
function machineFacts(whole: MachineWhole): LabelledValue[] {
  const { machine, explanation } = whole;
  const { slot, machineId, createdAtMs, atMs, state, substate, conflict, creation, shelf } =
    machine;
  return [
    ['slot', slot],
    ['machine', machineId ?? 'none'],
    ['recorded', told(createdAtMs, (at) => whenText(at, atMs))],
    [
      'adopted',
      machine.adopted ? 'it existed before Shepherd; a give-back only lets go of it' : null,
    ],
    ['conflict', conflict],
    ['state', `${state} · ${substate}`],
    ...whyFacts(explanation),
    [
      'creation',
      told(creation, ({ hostname, startedAtMs, attempts, lastError }) => {
        const error = lastError === null ? '' : `: ${lastError}`;
        return `of ${hostname}, begun ${whenText(startedAtMs, atMs)}, ${attempts} attempts${error}`;
      }),
    ],
    ['cooldown', told(shelf, ({ untilMs, cause }) => `${untilText(untilMs, atMs)}: ${cause}`)],
    ...(machineId === null ? [] : tenancyFacts(whole)),
    ...whole.cases.map(({ id, title }): LabelledValue => ['case', `${id}: ${title}`]),
    ...conditionFacts(machine),
    ...acceptanceFacts(whole),
    ...holdFacts(machine),
    ...requestFacts(whole),
  ];
}

/** The explanation, and what ends each block. */
const whyFacts = ({ sentence, blockedBy, overdue }: Explanation): LabelledValue[] => [
  ['why', overdue ? `${sentence} It is overdue.` : sentence],
  ...blockedBy.map(({ kind, text, endedBy }, at): LabelledValue => [
    at === 0 ? 'blocked by' : '',
    `${kind}: ${text}; ended by ${endedBy}`,
  ]),
];

function tenancyFacts(whole: MachineWhole): LabelledValue[] {
  const { machine } = whole;
  const { atMs, hostKey, permit, work, backoffs, missingSinceMs } = machine;
  return [
    ...hardwareFacts(machine),
    ['missing', told(missingSinceMs, (at) => `not listed since ${whenText(at, atMs)}`)],
    ...agentFacts(whole),
    ...installFacts(whole),
    ['host key', hostKey === null ? 'none pinned yet' : `${fingerprintOf(hostKey)}, pinned`],
    ...quarantineFacts(whole),
    ...machine.members.map((member): LabelledValue => ['pool', memberText(member, atMs)]),
    ...deprovisionFacts(machine),
    ...ladderFacts(machine),
    ['permit', permit ? 'held: recovery interrupts it now' : 'none'],
    ...bootFacts(machine),
    ...work.map(({ process, sessionId, startedAtMs }): LabelledValue => [
      'work',
      `${process} since ${whenText(startedAtMs, atMs)}, session ${sessionId}`,
    ]),
    ...backoffs.map(({ process, untilMs, cause }): LabelledValue =>
      untilMs > atMs
        ? ['backoff', `${process} ${untilText(untilMs, atMs)}: ${cause}`]
        : ['failed', `${process}, waited until ${whenText(untilMs, atMs)}: ${cause}`],
    ),
  ];
}

const TOLD_APART: ReadonlySet<string> = new Set(['machineId', 'address', 'conditions']);
const hardwareFacts = (machine: Machine): LabelledValue[] => [
  ['device', `${machine.providerId ?? 'none'}, ${machine.status ?? 'no status yet'}`],
  ['address', machine.address ?? 'unknown'],
  ...LINE_FIELD_NAMES.filter((name) => !TOLD_APART.has(name)).map((name): LabelledValue => [
    name,
    machine[name] ?? (lineField(name).isRare ? null : 'unknown'),
  ]),
];

function agentFacts({ machine, lines }: MachineWhole): LabelledValue[] {
  const { atMs, agent, startAttempt, heartbeat, machineId } = machine;
  const started = lines.find(
    (each) => each.kind === 'agentStarted' && each.machineId === machineId,
  );
  // May include the last output of the previous agent.
  const warned = agent && started?.reason ? started.reason.replaceAll(/\s+/g, ' ') : null;
  return [
    ['agent', agent === null ? 'not started' : `started ${whenText(agent.startedAtMs, atMs)}`],
    ['', told(warned, (warning) => `its start warned: ${warning}`)],
    ['', told(startAttempt, (attempt) => attemptText(attempt, atMs))],
    ['heartbeat', heartbeatText(machine)],
    ['boot id', heartbeat?.bootId ?? agent?.bootId ?? 'unknown'],
  ];
}

function attemptText(attempt: NonNullable<Machine['startAttempt']>, nowMs: number): string {
  const { count, unreached, atMs } = attempt;
  const lost = unreached === 0 ? '' : ` (${unreached} never reached it)`;
  const last =
    atMs === null
      ? 'the agent was never executed'
      : `it was last executed ${whenText(atMs, nowMs)}`;
  return `${count} attempts failed${lost}, ${last}`;
}

function heartbeatText({ heartbeat, atMs }: Machine): string {
  if (heartbeat === null) return 'none';
  const when = whenText(heartbeat.atMs, atMs);
  return heartbeat.isCurrent ? when : `${when}, from an earlier agent`;
}

function installFacts({ machine, lines }: MachineWhole): LabelledValue[] {
  const { installation, atMs } = machine;
  if (installation === null || installation.state === 'NONE') return [];
  const { state, requestGeneration, reportGeneration, handedOutAtMs, barredBy } = installation;
  const handed =
    handedOutAtMs === null ? 'not handed out yet' : `handed out ${whenText(handedOutAtMs, atMs)}`;
  const head = `generation ${reportGeneration}: Error: `;
  const failed = lines.find(({ reason }) => state === 'FAILED' && reason.startsWith(head)) ?? null;
  return [
    [
      'install',
      `${state}: requested generation ${requestGeneration}, reported ` +
        `${reportGeneration ?? 'none'}; ${handed}`,
    ],
    ['', told(barredBy, (by) => `the agent does not receive it: ${by}`)],
    ['', told(failed, ({ reason }) => `its agent says: ${reason.slice(head.length)}`)],
  ];
}

function quarantineFacts({ explanation, machine }: MachineWhole): LabelledValue[] {
  const { quarantine, atMs } = machine;
  const whose = explanation.by === null ? '' : ` by ${explanation.by}`;
  return [
    ['quarantine', told(quarantine, ({ kind, reason }) => `${kind}${whose}: ${reason}`)],
    ['', told(quarantine?.untilMs ?? null, (at) => `ends by itself ${untilText(at, atMs)}`)],
  ];
}

/** The membership of a machine in a pool at one load balancer. */
function memberText(member: Machine['members'][number], atMs: number): string {
  const { pool, balancer, state, sinceMs, deadlineMs, how, waived, note, sessions } = member;
  const parts = [
    `${pool} at ${balancer}: ${state} since ${whenText(sinceMs, atMs)}`,
    told(deadlineMs, (at) => `its connections are cut ${untilText(at, atMs)}`),
    how,
    told(sessions, (count) => `${count} connections`),
    waived ? 'nothing waits for it' : null,
    note,
  ];
  return parts.filter((part) => part !== null).join('; ');
}

function deprovisionFacts({ deprovision, atMs }: Machine): LabelledValue[] {
  if (deprovision === null) return [];
  const { requestedAtMs, requestedBy, reason, attempts } = deprovision;
  return [
    ['deprovision', `requested by ${requestedBy} ${whenText(requestedAtMs, atMs)}: ${reason}`],
    ['', `${attempts} calls to the provider so far`],
  ];
}

function ladderFacts({ ladder, atMs }: Machine): LabelledValue[] {
  if (ladder === null) return [['ladder', 'not begun']];
  const { rung, attempts, nextAtMs, askedAtMs, askedRung, operationRef, orderKey } = ladder;
  const operation = operationRef === null ? '' : `, operation ${operationRef}`;
  const order = orderKey === null ? '' : `, order ${orderKey}`;
  const asked = (at: number) =>
    `${askedRung ?? rung} was requested ${whenText(at, atMs)}${operation}${order}; no proof of success yet`;
  const isLater = nextAtMs !== null && nextAtMs > atMs;
  return [
    ['ladder', `${rung}, attempt ${attempts}`],
    ['', isLater ? `cooldown until ${whenText(nextAtMs, atMs)}` : null],
    ['', told(askedAtMs, asked)],
    [
      'power',
      told(
        ladder.powerOffAskedAtMs,
        (at) => `power-off requested ${whenText(at, atMs)}; power-on not requested yet`,
      ),
    ],
  ];
}

function bootFacts({ bootSeconds }: Machine): LabelledValue[] {
  const { reboot = [], reinstall = [] } = bootSeconds ?? {};
  const seconds = (times: readonly number[]) => times.map((each) => `${each}s`).join(', ');
  return [
    ['boots took', seconds(reboot) || 'not measured yet'],
    ['installs took', seconds(reinstall) || null],
  ];
}

function holdFacts({ holdRows, atMs }: Machine): LabelledValue[] {
  return holdRows.length === 0
    ? [['holds', 'none']]
    : holdRows.map(({ kind, setBy, reason, fromMs, untilMs }, at): LabelledValue => [
        at === 0 ? 'holds' : '',
        `${kind} by ${setBy} ${fromText(fromMs, atMs)}${isDerived({ setBy }) ? 'until that ends' : untilText(untilMs, atMs)}: ${reason}`,
      ]);
}

const conditionFacts = ({ conditionRows, atMs }: Machine): LabelledValue[] =>
  conditionRows.map((each, at): LabelledValue => [
    at === 0 ? 'conditions' : '',
    conditionText(each, atMs),
  ]);

function acceptanceFacts({ machine, checks }: MachineWhole): LabelledValue[] {
  const { acceptance, atMs } = machine;
  if (!acceptance) return [];
  const { state, cause, askedAtMs } = acceptance;
  return [
    ['acceptance', `${state}; requested ${whenText(askedAtMs, atMs)} (${cause})`],
    ...checks.map(({ name, status, expected, found }): LabelledValue => [
      '',
      `${name} ${status}: ${found}${expected === '' ? '' : `, expected ${expected}`}`,
    ]),
  ];
}

function requestFacts({ requests, machine }: MachineWhole): LabelledValue[] {
  if (requests.length === 0) return [['requests', 'none']];
  return requests.flatMap((request, at): LabelledValue[] => [
    [
      at === 0 ? 'requests' : '',
      `${request.verb} by ${request.by} ${whenText(request.createdAtMs, machine.atMs)}: ${request.reason}`,
    ],
    ['', `-> ${standingText(request)}`],
  ]);
}

const standingText = ({ state, outcome, expiresAtMs, key }: Request): string =>
  state === 'open'
    ? `open, valid until ${timeText(expiresAtMs)}; key ${key}`
    : `${state}${outcome === null ? '' : `: ${outcome}`}`;
