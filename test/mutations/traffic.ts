import { mutationsOf } from './mutation.ts';

/** What tells whether a load balancer kept its promise: machines that serve, and their clients. */
export const mutations = mutationsOf`
emulators/hosts/host.ts test/emulators/hosts/serving.test.ts
  the-service-outlives-the-power: await [-service?.close();\n    await -]listener
  the-service-has-no-part-in-a-boot: [-await service?.open();-]
  what-hangs-serves: [-service?.freeze?.(on);-]
emulators/hosts/serving/service.ts test/emulators/hosts/serving.test.ts
  a-check-counts-as-a-client: cut += [-used.size-]{+sockets.size + 1+};
  what-was-cut-is-not-counted: [-cut += used.size;-]
  requests-are-not-told: [-options.onRequest();-]
emulators/haproxy/traffic/hold.ts test/emulators/haproxy/traffic/traffic.test.ts
  a-cut-is-taken-for-the-end: { kind: '[-cut', why-]{+ended'+} };
  who-was-cut-comes-again-unnoticed: if ([-lost || sockets.size !== 1-]{+sockets.size > 99+}) return
emulators/haproxy/traffic/call.ts test/emulators/haproxy/traffic/traffic.test.ts
  any-answer-is-good: response.complete[- && response.statusCode === 200-]
emulators/haproxy/traffic/traffic.ts test/emulators/haproxy/traffic/traffic.test.ts
  refusals-are-not-counted: \_\_\_\_\_\_[-refused += 1;\n      -]fail(
emulators/haproxy/watchdog.ts test/emulators/haproxy/ends-with-us.test.ts
  haproxy-outlives-a-kill: read -r _; {+exit 0; +}p=$1;
emulators/haproxy/status.ts test/emulators/haproxy/ends-with-us.test.ts
  without-weight-there-is-traffic: [-weight > 0 && -]
emulators/sim/scenarios/turns.ts test/emulators/sim/scenarios/turns.test.ts
  whoever-was-a-member-once-may-serve: state [-!== null &&-]{+=== null ||+} mayServe
  one-balancer-speaks-for-all: [-\`\${membership.balancer}/\${membership.pool}\`-]{+'all'+}
emulators/sim/scenarios/check.ts test/emulators/sim/scenarios/check.test.ts
  a-machine-may-be-left-out: reboots >= [-ordered-]{+0+}
`;
