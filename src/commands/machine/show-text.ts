import type { RequestState } from '../../adapters/bmdb/port.ts';
import { fingerprintOf } from '../../adapters/ssh/port.ts';
import { currentHeartbeat, handOutRefusal, installState } from '../../domain/eligibility.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import type { HoldRow, LadderRow, MachineRow, QuarantineKind } from '../../domain/machine.ts';
import type { LadderPolicy } from '../../domain/recovery/ladder.ts';
import { TRAIT_NAMES } from '../../domain/traits.ts';
import { factLines, plainCell, timeText, untilText, whenText } from './layout.ts';
import type { Selected } from './selection.ts';

/** Everything that is told of one slot. */
export interface SlotDetails {
  readonly nowMs: number;
  readonly selected: Selected;
  /** The machine that was meant; null: there is none on the slot. */
  readonly row: MachineRow | null;
  /** How often each rung may be tried on its provider's machines. */
  readonly ladder: LadderPolicy;
  /** Who put it under quarantine; null: nobody, or not known. */
  readonly quarantinedBy: string | null;
  /** What its agent reported of a failed installation, on one line; null: none failed, or not known. */
  readonly installFailure: string | null;
  /** What the takeover that started its agent warned of, on one line; null: nothing. */
  readonly startWarning: string | null;
  readonly holds: readonly HoldRow[];
  /** Settled ones too, newest first. */
  readonly requests: readonly RequestState[];
}

type Fact = readonly [string, string];

/** Everything a person needs to know of a slot, wrapped to so many columns. */
export function showText(details: SlotDetails, width: number): string {
  const { row } = details;
  const facts = [
    ...placeFacts(details),
    ...(row === null ? creationFacts(details) : machineFacts(row, details)),
    ...holdFacts(details),
    ...requestFacts(details),
  ];
  return factLines(
    facts.map(([name, value]): Fact => [plainCell(name), value]),
    width,
  );
}

function placeFacts({ selected, row, nowMs }: SlotDetails): Fact[] {
  const { slot, entry } = selected;
  const others = (entry?.rows ?? []).filter((each) => each !== row);
  return [
    ['slot', slot],
    ['machine', row === null ? 'none' : row.machineId],
    ...(row === null ? [] : [['recorded', whenText(row.createdAtMs, nowMs)] as const]),
    ...others.map(({ machineId }): Fact => ['', `${machineId} claims the slot, too`]),
    ...(entry === null ? [] : stateFacts(entry.view)),
  ];
}

const stateFacts = (view: {
  readonly state: string;
  readonly substate: string;
  readonly reason: string | null;
}): Fact[] => [
  ['state', `${view.state} · ${view.substate}`],
  ...(view.reason === null ? [] : [['why', view.reason] as const]),
];

function creationFacts({ selected: { entry }, nowMs }: SlotDetails): Fact[] {
  const { intent = null, penalty = null } = entry?.facts ?? {};
  return [
    ...(intent === null
      ? []
      : [
          [
            'creation',
            `${intent.state} since ${whenText(intent.createdAtMs, nowMs)}, ${intent.attempts} ` +
              `attempts, witness ${intent.witness}`,
          ] as const,
        ]),
    ...(penalty === null
      ? []
      : [['shelf', `${untilText(penalty.untilMs, nowMs)}: ${penalty.cause}`] as const]),
  ];
}

function machineFacts(row: MachineRow, details: SlotDetails): Fact[] {
  const { quarantinedBy, ladder, nowMs } = details;
  const { provided, hostKey, permit, work, backoffs, missing } = row;
  return [
    ...(provided === null ? [] : hardwareFacts(provided)),
    ...(missing === null
      ? []
      : [['missing', `not listed since ${whenText(missing.sinceMs, nowMs)}`] as const]),
    ...agentFacts(row, details),
    ['host key', hostKey === null ? 'none pinned yet' : `${fingerprintOf(hostKey)}, pinned`],
    ...(row.quarantine === null ? [] : quarantineFacts(row, quarantinedBy, nowMs)),
    ...row.members.map((member): Fact => ['pool', memberText(member, nowMs)]),
    ...(row.deprovision === null ? [] : deprovisionFacts(row.deprovision, nowMs)),
    ...ladderFacts(row.recovery, ladder, nowMs),
    ['permit', permit ? 'held: it counts as being recovered' : 'none'],
    ...bootFacts(row),
    ...work.map(({ process, sessionId, startedAtMs }): Fact => [
      'work',
      `${process} since ${whenText(startedAtMs, nowMs)}, session ${sessionId}`,
    ]),
    ...backoffs.map(({ process, untilMs, cause }): Fact =>
      untilMs > nowMs
        ? ['backoff', `${process} ${untilText(untilMs, nowMs)}: ${cause}`]
        : ['failed', `${process}, waited until ${whenText(untilMs, nowMs)}: ${cause}`],
    ),
  ];
}

const hardwareFacts = (provided: NonNullable<MachineRow['provided']>): Fact[] => [
  ['device', `${provided.providerId}, ${provided.status ?? 'no status yet'}`],
  ['address', provided.address ?? 'not known'],
  ...TRAIT_NAMES.map((name): Fact => [name, provided[name] ?? 'not known']),
];

function agentFacts(row: MachineRow, details: SlotDetails): Fact[] {
  const { nowMs, startWarning } = details;
  const { agentStarted, startAttempt, heartbeat } = row;
  return [
    [
      'agent',
      agentStarted === null ? 'not started' : `started ${whenText(agentStarted.atMs, nowMs)}`,
    ],
    ...(startWarning === null ? [] : [['', `its start warned: ${startWarning}`] as const]),
    ...(startAttempt === null
      ? []
      : [
          [
            '',
            `${startAttempt.count} attempts failed${unreachedText(startAttempt)}, ` +
              (startAttempt.atMs === null
                ? 'the agent was never executed'
                : `it was last executed ${whenText(startAttempt.atMs, nowMs)}`),
          ] as const,
        ]),
    ['heartbeat', heartbeatText(row, nowMs)],
    ['boot id', heartbeat?.bootId ?? agentStarted?.bootId ?? 'not known'],
    ...installFacts(row, details),
  ];
}

/** What it is to a pool at one balancer. */
function memberText(member: MemberRow, nowMs: number): string {
  const { pool, balancer, state, sinceMs, deadlineMs, how, waived, note, sessions } = member;
  return [
    `${pool} at ${balancer}: ${state} since ${whenText(sinceMs, nowMs)}`,
    ...(deadlineMs === null ? [] : [`its connections are cut ${untilText(deadlineMs, nowMs)}`]),
    ...(how === null ? [] : [how]),
    ...(sessions === null ? [] : [`${sessions} connections`]),
    ...(waived ? ['nobody waits for it'] : []),
    ...(note === null ? [] : [note]),
  ].join('; ');
}

const unreachedText = ({ unreached = 0 }: { readonly unreached?: number }): string =>
  unreached === 0 ? '' : ` (${unreached} never reached it)`;

function installFacts(row: MachineRow, { nowMs, holds, installFailure }: SlotDetails): Fact[] {
  const { requestGeneration, reportGeneration, handedOutAtMs } = row.installation;
  const install = installState(row);
  if (install === 'NONE') return [];
  const barred = install === 'PENDING' ? handOutRefusal(row, { holds, nowMs }) : null;
  const handed =
    handedOutAtMs === null ? 'not handed out yet' : `handed out ${whenText(handedOutAtMs, nowMs)}`;
  return [
    [
      'install',
      `${install}: asked for generation ${requestGeneration}, reported ` +
        `${reportGeneration ?? 'none'}; ${handed}`,
    ],
    ...(barred === null ? [] : [['', `it is kept from its agent: ${barred}`] as const]),
    ...(installFailure === null ? [] : [['', `its agent says: ${installFailure}`] as const]),
  ];
}

function heartbeatText(row: MachineRow, nowMs: number): string {
  if (row.heartbeat === null) return 'none';
  const when = whenText(row.heartbeat.atMs, nowMs);
  return currentHeartbeat(row) === null ? `${when}, by an agent before` : when;
}

const ENDED_BY: Readonly<Record<QuarantineKind, string>> = {
  needsHuman:
    'recovery has done what it may; a person ends it ("shepherd machine release"), or half an ' +
    'hour of heartbeats',
  conflict: 'find out why first; then a person ends it: "shepherd machine release"',
  byOperator: 'a person ends it: "shepherd machine release"',
};

function quarantineFacts(row: MachineRow, by: string | null, nowMs: number): Fact[] {
  const { kind, reason, untilMs } = row.quarantine!;
  const whose = by === null ? '' : ` by ${by}`;
  return [
    ['quarantine', `${kind}${whose}: ${reason}`],
    ['', untilMs === null ? ENDED_BY[kind] : `ends by itself ${untilText(untilMs, nowMs)}`],
  ];
}

function deprovisionFacts(
  {
    requestedAtMs,
    requestedBy,
    reason,
    attempts,
    askedAtMs,
  }: NonNullable<MachineRow['deprovision']>,
  nowMs: number,
): Fact[] {
  const asked = askedAtMs === null ? '' : `, the last time ${whenText(askedAtMs, nowMs)}`;
  return [
    ['deprovision', `${requestedBy} asked for it ${whenText(requestedAtMs, nowMs)}: ${reason}`],
    ['', `its provider was asked ${attempts} times${asked}`],
  ];
}

function ladderFacts(ladder: LadderRow | null, policy: LadderPolicy, nowMs: number): Fact[] {
  if (ladder === null) return [['ladder', 'not begun']];
  const { rung, attempts, nextAtMs, askedAtMs, askedRung, operationRef, orderKey } = ladder;
  const { powerOffAskedAtMs: offAtMs } = ladder;
  return [
    ['ladder', `${rung}, attempt ${attempts} of ${policy[rung].attempts}`],
    ...(nextAtMs === null || nextAtMs <= nowMs
      ? []
      : [['', `nothing before ${whenText(nextAtMs, nowMs)}`] as const]),
    ...(askedAtMs === null
      ? []
      : [
          [
            '',
            `${askedRung ?? rung} was asked for ${whenText(askedAtMs, nowMs)}` +
              `${operationRef === null ? '' : `, operation ${operationRef}`}` +
              `${orderKey === null ? '' : `, order ${orderKey}`}; not proved yet`,
          ] as const,
        ]),
    ...(offAtMs === null
      ? []
      : [['power', `asked off ${whenText(offAtMs, nowMs)}, and not on again yet`] as const]),
  ];
}

function bootFacts({ bootTimes: { reboot, reinstall } }: MachineRow): Fact[] {
  const seconds = (times: readonly number[]) => times.map((each) => `${each}s`).join(', ');
  return [
    ['boots took', reboot.length === 0 ? 'not measured yet' : seconds(reboot)],
    ...(reinstall.length === 0 ? [] : [['installs took', seconds(reinstall)] as const]),
  ];
}

function holdFacts({ holds, nowMs }: SlotDetails): Fact[] {
  return holds.length === 0
    ? [['holds', 'none']]
    : holds.map((hold, at): Fact => [at === 0 ? 'holds' : '', heldText(hold, nowMs)]);
}

const heldText = ({ kind, setBy, reason, untilMs }: HoldRow, nowMs: number): string =>
  `${kind} by ${setBy} ${untilText(untilMs, nowMs)}: ${reason}`;

function requestFacts({ requests, nowMs }: SlotDetails): Fact[] {
  if (requests.length === 0) return [['requests', 'none']];
  return requests.flatMap((request, at): Fact[] => [
    [at === 0 ? 'requests' : '', requestText(request, nowMs)],
    ['', `-> ${standingText(request)}`],
  ]);
}

const requestText = ({ verb, by, reason, createdAtMs }: RequestState, nowMs: number): string =>
  `${verb} by ${by} ${whenText(createdAtMs, nowMs)}: ${reason}`;

const standingText = ({ state, outcome, expiresAtMs, key }: RequestState): string =>
  state === 'open'
    ? `open, valid until ${timeText(expiresAtMs)}; key ${key}`
    : `${state}${outcome === null ? '' : `: ${outcome}`}`;
