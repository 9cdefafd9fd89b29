import { mutationsOf } from './mutation.ts';

/** How a daemon is put together over its ports; judged by fleets of several in virtual time. */
export const mutations = mutationsOf`
src/daemon/parts.ts test/daemon/fleet-in-virtual-time.test.ts
  composition-daemons-ignore-each-other: daemons: () => [-daemons()-]{+1+},
  composition-permits-hear-nothing: [-      permits.offer(facts, changed);\n-]
  composition-calls-before-the-session: const isReady = () => [-keeper.current() !== null-]{+false+};
  composition-streams-keep-their-own-time:
    scheduler: {+{ ...+}ports.scheduler,{+ now: Date.now, schedule: () => new Subject().subscribe() },+}
  composition-jobs-of-the-dead-wait: (retryMs = {+1_000 * +}tuning.leaseRetryMs)
src/daemon/fleet-deps.ts test/daemon/fleet-in-virtual-time.test.ts
  composition-guard-hears-nothing: isTakingIn: [-server.isTakingIn-]{+() => false+},
src/daemon/daemon.ts test/daemon/fleet-in-virtual-time.test.ts
  composition-supervisor-in-real-time: id: 'fleet',[-\n    clock,-]
src/adapters/driver-kit/creation.ts test/daemon/fleet-in-virtual-time.test.ts
  composition-secrets-past-the-port: hashOf(\`\${uuid()} \${[-uuid-]{+crypto.randomUUID+}()}\`)
src/actors/provide.ts test/repo/reach.test.ts
  composition-provisioners-in-real-time: id: \`provisioner-\${provider}\`,[-\n        clock,-]
src/adapters/clock/port.ts test/adapters/clock/time-limit.test.ts
  composition-time-limits-stay: \_\_} finally {\n[-    clock.clearTimeout(timer);\n-]
src/domain/eligibility.ts test/domain/eligibility.test.ts
  composition-machines-are-lost-early: ? heartbeat.atMs + loss.heartbeatMs{+ / 2+}
`;
