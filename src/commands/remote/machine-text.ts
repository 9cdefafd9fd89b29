import { fingerprintOf } from '../../adapters/ssh/port.ts';
import { TRAIT_NAMES } from '../../domain/traits.ts';
import { factLines, plainCell, timeText, untilText, whenText } from '../machine/layout.ts';
import type { Explanation, History, Machine, Request } from './answers.ts';

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
