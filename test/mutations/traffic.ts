import { mistakesNamed, type Mutation } from './mutation.ts';

const SIMULATOR = 'src/simulator';
const SERVING = ['test/simulator/hosts/serving.test.ts'];
const TRAFFIC = ['test/simulator/traffic/traffic.test.ts'];
const HAPROXY = ['test/simulator/haproxy/ends-with-us.test.ts'];

/** What tells whether a load balancer kept its promise: machines that serve, and their clients. */
export const mutations: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${SIMULATOR}/hosts/host.ts`, tests: SERVING },
    ['the-service-outlives-the-power', 'await service?.close();\n    await door', 'await door'],
    ['the-service-has-no-part-in-a-boot', 'await service?.open();', ''],
    ['what-hangs-serves', 'service?.freeze?.(on);', ''],
  ),
  ...mistakesNamed(
    { file: `${SIMULATOR}/hosts/serving/service.ts`, tests: SERVING },
    ['a-check-counts-as-a-client', 'cut += used.size;', 'cut += sockets.size + 1;'],
    ['what-was-cut-is-not-counted', 'cut += used.size;', ''],
    ['requests-are-not-told', 'options.onRequest();', ''],
  ),
  ...mistakesNamed(
    { file: `${SIMULATOR}/traffic/hold.ts`, tests: TRAFFIC },
    ['a-cut-is-taken-for-the-end', "{ kind: 'cut', why };", "{ kind: 'ended' };"],
    [
      'who-was-cut-comes-again-unnoticed',
      'if (lost || sockets.size !== 1) return',
      'if (sockets.size > 99) return',
    ],
  ),
  ...mistakesNamed({ file: `${SIMULATOR}/traffic/call.ts`, tests: TRAFFIC }, [
    'any-answer-is-good',
    'response.complete && response.statusCode === 200',
    'response.complete',
  ]),
  ...mistakesNamed({ file: `${SIMULATOR}/traffic/traffic.ts`, tests: TRAFFIC }, [
    'refusals-are-not-counted',
    '      refused += 1;\n      fail(',
    '      fail(',
  ]),
  ...mistakesNamed({ file: `${SIMULATOR}/haproxy/watchdog.ts`, tests: HAPROXY }, [
    'haproxy-outlives-a-kill',
    'read -r _; p=$1;',
    'read -r _; exit 0; p=$1;',
  ]),
  ...mistakesNamed({ file: `${SIMULATOR}/haproxy/status.ts`, tests: HAPROXY }, [
    'without-weight-there-is-traffic',
    'weight > 0 && ',
    '',
  ]),
  ...mistakesNamed(
    { file: 'src/commands/scenarios/turns.ts', tests: ['test/commands/scenarios/turns.test.ts'] },
    [
      'whoever-was-a-member-once-may-serve',
      'state !== null && mayServe',
      'state === null || mayServe',
    ],
    ['one-balancer-speaks-for-all', '`${membership.balancer}/${membership.pool}`', "'all'"],
  ),
  ...mistakesNamed(
    { file: 'src/commands/scenarios/check.ts', tests: ['test/commands/scenarios/check.test.ts'] },
    ['a-machine-may-be-left-out', 'reboots >= ordered', 'reboots >= 0'],
  ),
];
