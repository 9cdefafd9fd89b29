import { mistakesIn, type Mutation } from './mutation.ts';

/** How a daemon is put together over its ports; judged by fleets of several in virtual time. */

const FLEET = ['test/daemon/fleet-in-virtual-time.test.ts'];

const parts = mistakesIn('src/daemon/parts.ts', FLEET, [
  ['composition-daemons-ignore-each-other', 'daemons: () => daemons(),', 'daemons: () => 1,'],
  ['composition-permits-hear-nothing', '      permits.offer(facts, changed);\n', ''],
  [
    'composition-calls-before-the-session',
    'const isReady = () => keeper.current() !== null;',
    'const isReady = () => false;',
  ],
  [
    'composition-streams-keep-their-own-time',
    'scheduler: ports.scheduler,',
    `scheduler: { ...ports.scheduler, now: Date.now, schedule: () => new Subject().subscribe() },`,
  ],
  [
    'composition-jobs-of-the-dead-wait',
    '(retryMs = tuning.leaseRetryMs)',
    '(retryMs = 1_000 * tuning.leaseRetryMs)',
  ],
]);

const deps = mistakesIn('src/daemon/fleet-deps.ts', FLEET, [
  ['composition-guard-hears-nothing', 'isTakingIn: server.isTakingIn,', 'isTakingIn: () => false,'],
]);

const daemon = mistakesIn('src/daemon/daemon.ts', FLEET, [
  ['composition-supervisor-in-real-time', `id: 'fleet',\n    clock,`, `id: 'fleet',`],
]);

const secrets = mistakesIn('src/adapters/provider/core/instance-secret.ts', FLEET, [
  [
    'composition-secrets-past-the-port',
    'hashOf(`${uuid()} ${uuid()}`)',
    'hashOf(`${uuid()} ${crypto.randomUUID()}`)',
  ],
]);

const provisioners = mistakesIn(
  'src/actors/provide.ts',
  ['test/repo/reach.test.ts'],
  [
    [
      'composition-provisioners-in-real-time',
      'id: `provisioner-${provider}`,\n        clock,',
      'id: `provisioner-${provider}`,',
    ],
  ],
);

const limit = mistakesIn(
  'src/daemon/time-limit.ts',
  ['test/daemon/time-limit.test.ts'],
  [['composition-time-limits-stay', '    clock.clearTimeout(timer);\n', '']],
);

const loss = mistakesIn('src/domain/eligibility.ts', FLEET, [
  [
    'composition-machines-are-lost-early',
    '? heartbeat.atMs + loss.heartbeatMs',
    '? heartbeat.atMs + loss.heartbeatMs / 2',
  ],
]);

export const mutations: readonly Mutation[] = [
  ...parts,
  ...deps,
  ...daemon,
  ...secrets,
  ...provisioners,
  ...limit,
  ...loss,
];
