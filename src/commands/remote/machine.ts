import { NotFound, UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { factLines, timeText, jsonLine, plainCell, untilText, whenText } from '../layout.ts';
import type { Explanation, History, Machine, RequestList, Request } from './answers.ts';
import { findNamed, named, pathOf } from './names.ts';
import { documentText, isData } from './output.ts';
import { ok, type Session, type Told } from './session.ts';
import { fingerprintOf } from '../../adapters/ssh/port.ts';
import { TRAIT_NAMES } from '../../domain/traits.ts';

const LAST_REQUESTS = 10;
/** Of its log, for what its agent said at its start or of an installation. */
const LINES_READ = 1_000;

interface NameFlags {
  readonly exact: boolean;
}

/** `shepherd machine show`: what a person needs to know of one machine, or of a slot without one. */
export async function showMachine(
  name: string,
  { exact }: NameFlags,
  session: Session,
): Promise<Told> {
  const { client, format, width } = session;
  const { slot } = await named(client, name, exact);
  if (format === 'name') return ok(slot);
  const path = pathOf(slot);
  const [machine, explanation, { requests }, { lines }] = await Promise.all([
    client.get<Machine>(path),
    client.get<Explanation>(`${path}/explanation`),
    client.get<RequestList>('/requests', { slot, limit: LAST_REQUESTS }),
    client.get<History>(`${path}/history`, { limit: LINES_READ }),
  ]);
  if (isData(format)) return ok(await documentText({ ...machine, explanation }, format));
  return ok(session.paint(machineText({ machine, explanation, requests, lines }, width)));
}

/** `shepherd machine explain`: why it is where it is, and what would end it. */
export async function explainMachine(
  name: string,
  { exact }: NameFlags,
  session: Session,
): Promise<Told> {
  const { client, format, width } = session;
  const { slot } = await named(client, name, exact);
  if (format === 'name') return ok(slot);
  const found = await client.get<Explanation>(`${pathOf(slot)}/explanation`);
  if (isData(format)) return ok(await documentText({ slot, ...found }, format));
  const { next } = found;
  const facts: (readonly [string, string])[] = [
    ['slot', slot],
    ...whyFacts(found),
    ['next', next.atMs === null ? next.text : `${next.text} (${timeText(next.atMs)})`],
  ];
  return ok(session.paint(factLines(facts, width)));
}

export interface HistoryFlags extends NameFlags {
  /** At most so many lines, the latest ones. */
  readonly limit: number;
}

/**
 * `shepherd machine history`: what happened to it, whoever did it, in the order of time. What is left
 * of it stays when the machine is gone.
 */
export async function showHistory(
  name: string,
  { exact, limit }: HistoryFlags,
  session: Session,
): Promise<Told> {
  const { format, width } = session;
  const { of, lines } = await historyOf(name, { exact, limit }, session);
  if (lines.length === 0) throw new NotFound(`nothing ever happened to ${of}`);
  if (format === 'name') return ok(of);
  if (format === 'ndjson') return ok(lines.map(jsonLine).join('\n'));
  if (isData(format)) return ok(await documentText({ of, lines }, format));
  return ok(session.paint(factLines(lines.map(inWords), width)));
}

/** A name that means nothing now may be that of a machine that is gone, or of a slot that was there. */
async function historyOf(name: string, { exact, limit }: HistoryFlags, { client }: Session) {
  const found = isUuid(name) ? null : await findNamed(client, name, exact);
  const ofMachine = isUuid(name) ? name : null;
  if (ofMachine === null && found === null && !/^[^/]+\/./.test(name)) {
    throw new UsageError(
      `"${name}" is neither a machine's id (a UUID in small letters) nor a slot (<provider>/<slot id>)`,
    );
  }
  const of = ofMachine ?? found?.slot ?? name;
  const answer =
    ofMachine === null
      ? await client.get<History>(`${pathOf(of)}/history`, { limit })
      : await client.get<History>('/history', { machine: ofMachine, limit });
  return { of, lines: answer.lines.toReversed() };
}

function inWords(line: History['lines'][number]): readonly [string, string] {
  const { of, kind, process, actor, from, to, reason } = line;
  const what = of === 'work' ? `${process} ${kind}` : kind;
  const change = from === null && to === null ? '' : `, ${from ?? '-'} → ${to ?? '-'}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return [timeText(line.atMs), `${actor ?? '-'} ${what}${change}${why}`];
}

/** Everything that is told of one machine. */
export interface MachineWhole {
  readonly machine: Machine;
  readonly explanation: Explanation;
  /** Settled ones too, newest first. */
  readonly requests: readonly Request[];
  /** Newest first. */
  readonly lines: History['lines'];
}

type Fact = readonly [string, string];

/** Everything that a person needs to know of a machine, wrapped to so many columns. */
export function machineText(whole: MachineWhole, width: number): string {
  const { machine } = whole;
  const facts = [
    ...placeFacts(whole),
    ...creationFacts(machine),
    ...(machine.machineId === null ? [] : tenancyFacts(whole)),
    ...holdFacts(machine),
    ...requestFacts(whole),
  ];
  return factLines(
    facts.map(([name, value]): Fact => [plainCell(name), value]),
    width,
  );
}

function placeFacts({ machine, explanation }: MachineWhole): Fact[] {
  const { slot, machineId, createdAtMs, atMs, state, substate, conflict } = machine;
  return [
    ['slot', slot],
    ['machine', machineId ?? 'none'],
    ...(createdAtMs === null ? [] : [['recorded', whenText(createdAtMs, atMs)] as const]),
    ...(conflict === null ? [] : [['conflict', conflict] as const]),
    ['state', `${state} · ${substate}`],
    ...whyFacts(explanation),
  ];
}

/** The sentence, and whatever of the rest it leaves out: what a person can do about each block. */
export const whyFacts = ({ sentence, blockedBy, overdue }: Explanation): Fact[] => [
  ['why', overdue ? `${sentence} It is overdue.` : sentence],
  ...blockedBy.map(({ kind, text, endedBy }, at): Fact => [
    at === 0 ? 'blocked by' : '',
    `${kind}: ${text}; ended by ${endedBy}`,
  ]),
];

function creationFacts({ creation, shelf, atMs }: Machine): Fact[] {
  return [
    ...(creation === null
      ? []
      : [
          [
            'creation',
            `of ${creation.hostname}, begun ${whenText(creation.startedAtMs, atMs)}, ` +
              `${creation.attempts} attempts` +
              (creation.lastError === null ? '' : `: ${creation.lastError}`),
          ] as const,
        ]),
    ...(shelf === null
      ? []
      : [['shelf', `${untilText(shelf.untilMs, atMs)}: ${shelf.cause}`] as const]),
  ];
}

function tenancyFacts(whole: MachineWhole): Fact[] {
  const { machine } = whole;
  const { atMs, hostKey, permit, work, backoffs, missingSinceMs, quarantine } = machine;
  return [
    ...hardwareFacts(machine),
    ...(missingSinceMs === null
      ? []
      : [['missing', `not listed since ${whenText(missingSinceMs, atMs)}`] as const]),
    ...agentFacts(whole),
    ['host key', hostKey === null ? 'none pinned yet' : `${fingerprintOf(hostKey)}, pinned`],
    ...(quarantine === null ? [] : quarantineFacts(quarantine, whole)),
    ...machine.members.map((member): Fact => ['pool', memberText(member, atMs)]),
    ...deprovisionFacts(machine),
    ...ladderFacts(machine),
    ['permit', permit ? 'held: recovery interrupts it now' : 'none'],
    ...bootFacts(machine),
    ...work.map(({ process, sessionId, startedAtMs }): Fact => [
      'work',
      `${process} since ${whenText(startedAtMs, atMs)}, session ${sessionId}`,
    ]),
    ...backoffs.map(({ process, untilMs, cause }): Fact =>
      untilMs > atMs
        ? ['backoff', `${process} ${untilText(untilMs, atMs)}: ${cause}`]
        : ['failed', `${process}, waited until ${whenText(untilMs, atMs)}: ${cause}`],
    ),
  ];
}

const hardwareFacts = (machine: Machine): Fact[] => [
  ['device', `${machine.providerId ?? 'none'}, ${machine.status ?? 'no status yet'}`],
  ['address', machine.address ?? 'not known'],
  ...TRAIT_NAMES.map((name): Fact => [name, machine[name] ?? 'not known']),
];

function agentFacts(whole: MachineWhole): Fact[] {
  const { machine } = whole;
  const { atMs, agent, startAttempt, heartbeat } = machine;
  const warned = agent === null ? null : startWarning(whole);
  return [
    ['agent', agent === null ? 'not started' : `started ${whenText(agent.startedAtMs, atMs)}`],
    ...(warned === null ? [] : [['', `its start warned: ${warned}`] as const]),
    ...(startAttempt === null
      ? []
      : [
          [
            '',
            `${startAttempt.count} attempts failed${unreachedText(startAttempt.unreached)}, ` +
              (startAttempt.atMs === null
                ? 'the agent was never executed'
                : `it was last executed ${whenText(startAttempt.atMs, atMs)}`),
          ] as const,
        ]),
    ['heartbeat', heartbeatText(machine)],
    ['boot id', heartbeat?.bootId ?? agent?.bootId ?? 'not known'],
    ...installFacts(whole),
  ];
}

/** What the takeover that started its agent warned of; among it what the agent before wrote last. */
function startWarning({ lines, machine }: MachineWhole): string | null {
  const found = lines.find(
    ({ kind, machineId }) => kind === 'agentStarted' && machineId === machine.machineId,
  );
  const reason = found?.reason ?? '';
  return reason === '' ? null : reason.replaceAll(/\s+/g, ' ');
}

const unreachedText = (unreached: number): string =>
  unreached === 0 ? '' : ` (${unreached} never reached it)`;

function heartbeatText({ heartbeat, atMs }: Machine): string {
  if (heartbeat === null) return 'none';
  const when = whenText(heartbeat.atMs, atMs);
  return heartbeat.isCurrent ? when : `${when}, by an agent before`;
}

function installFacts({ machine, lines }: MachineWhole): Fact[] {
  const { installation, atMs } = machine;
  if (installation === null || installation.state === 'NONE') return [];
  const { state, requestGeneration, reportGeneration, handedOutAtMs, barredBy } = installation;
  const handed =
    handedOutAtMs === null ? 'not handed out yet' : `handed out ${whenText(handedOutAtMs, atMs)}`;
  const head = `generation ${reportGeneration}: Error: `;
  const failed = state === 'FAILED' ? lines.find((each) => each.reason.startsWith(head)) : null;
  return [
    [
      'install',
      `${state}: asked for generation ${requestGeneration}, reported ` +
        `${reportGeneration ?? 'none'}; ${handed}`,
    ],
    ...(barredBy === null ? [] : [['', `it is kept from its agent: ${barredBy}`] as const]),
    ...(failed ? [['', `its agent says: ${failed.reason.slice(head.length)}`] as const] : []),
  ];
}

function quarantineFacts(
  { kind, reason, untilMs }: NonNullable<Machine['quarantine']>,
  { explanation, machine }: MachineWhole,
): Fact[] {
  const whose = explanation.by === null ? '' : ` by ${explanation.by}`;
  const ends = untilMs === null ? null : `ends by itself ${untilText(untilMs, machine.atMs)}`;
  return [
    ['quarantine', `${kind}${whose}: ${reason}`],
    ...(ends === null ? [] : [['', ends] as const]),
  ];
}

/** What it is to a pool at one balancer. */
function memberText(member: Machine['members'][number], atMs: number): string {
  const { pool, balancer, state, sinceMs, deadlineMs, how, waived, note, sessions } = member;
  return [
    `${pool} at ${balancer}: ${state} since ${whenText(sinceMs, atMs)}`,
    ...(deadlineMs === null ? [] : [`its connections are cut ${untilText(deadlineMs, atMs)}`]),
    ...(how === null ? [] : [how]),
    ...(sessions === null ? [] : [`${sessions} connections`]),
    ...(waived ? ['nobody waits for it'] : []),
    ...(note === null ? [] : [note]),
  ].join('; ');
}

function deprovisionFacts({ deprovision, atMs }: Machine): Fact[] {
  if (deprovision === null) return [];
  const { requestedAtMs, requestedBy, reason, attempts } = deprovision;
  return [
    ['deprovision', `${requestedBy} asked for it ${whenText(requestedAtMs, atMs)}: ${reason}`],
    ['', `its provider was asked ${attempts} times`],
  ];
}

function ladderFacts({ ladder, atMs }: Machine): Fact[] {
  if (ladder === null) return [['ladder', 'not begun']];
  const { rung, attempts, nextAtMs, askedAtMs, askedRung, operationRef, orderKey } = ladder;
  const { powerOffAskedAtMs: offAtMs } = ladder;
  return [
    ['ladder', `${rung}, attempt ${attempts}`],
    ...(nextAtMs === null || nextAtMs <= atMs
      ? []
      : [['', `nothing before ${whenText(nextAtMs, atMs)}`] as const]),
    ...(askedAtMs === null
      ? []
      : [
          [
            '',
            `${askedRung ?? rung} was asked for ${whenText(askedAtMs, atMs)}` +
              `${operationRef === null ? '' : `, operation ${operationRef}`}` +
              `${orderKey === null ? '' : `, order ${orderKey}`}; not proved yet`,
          ] as const,
        ]),
    ...(offAtMs === null
      ? []
      : [['power', `asked off ${whenText(offAtMs, atMs)}, and not on again yet`] as const]),
  ];
}

function bootFacts({ bootSeconds }: Machine): Fact[] {
  const { reboot = [], reinstall = [] } = bootSeconds ?? {};
  const seconds = (times: readonly number[]) => times.map((each) => `${each}s`).join(', ');
  return [
    ['boots took', reboot.length === 0 ? 'not measured yet' : seconds(reboot)],
    ...(reinstall.length === 0 ? [] : [['installs took', seconds(reinstall)] as const]),
  ];
}

function holdFacts({ holdRows, atMs }: Machine): Fact[] {
  return holdRows.length === 0
    ? [['holds', 'none']]
    : holdRows.map(({ kind, setBy, reason, untilMs }, at): Fact => [
        at === 0 ? 'holds' : '',
        `${kind} by ${setBy} ${untilText(untilMs, atMs)}: ${reason}`,
      ]);
}

function requestFacts({ requests, machine }: MachineWhole): Fact[] {
  if (requests.length === 0) return [['requests', 'none']];
  return requests.flatMap((request, at): Fact[] => [
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
