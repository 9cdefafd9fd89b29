import { mutationsOf } from './mutation.ts';

/** How machines of a list are reset and installed: once, only theirs, and only by what was read. */
export const mutations = mutationsOf`
src/adapters/provider/static/resets/ipmi.ts test/adapters/provider/static/resets/ipmi-sim.test.ts -t lost
  resets-ipmitool-repeats: changing ? ['-R', '[-1-]{+4+}'
src/adapters/provider/static/resets/ipmi.ts test/adapters/provider/static/resets/ipmi-sim.test.ts -t another GUID
  resets-any-bmc-is-ours: if (told === reset.guid{+ || told !== null+}) return;
src/adapters/provider/static/resets/ipmi.ts test/adapters/provider/static/resets/ipmi-sim.test.ts -t refused login
  resets-a-refused-login-is-tried-again: if (error.kind === 'auth'{+ && password === ''+})
src/adapters/provider/static/resets/ipmi.ts test/adapters/provider/static/resets/decisions.test.ts
  resets-a-lost-answer-is-a-refusal: failed: (?!Timeout[-)-]{+X)+}
src/adapters/provider/static/resets/power-switch.ts test/adapters/provider/static/resets/power-switch.test.ts
  resets-lost-answers-are-successes: if (!isTold [-||-]{+&&+} (await read
  resets-nobody-asks-whether-it-is-ours: [-    call.requireOurs(show(viewOf(before)));\n-]
  resets-nobody-asks-whether-it-is-wanted: [-      await call.beforeSending?.();\n-]
  resets-shut-down-for-good: if (now === 'off'{+ && signal.aborted+}) break;
  resets-bmcs-are-asked-at-once: const one = { maxConcurrency: [-1-]{+9+}
src/adapters/provider/static/resets/power-switch.ts test/adapters/provider/static/resets/decisions.test.ts
  resets-unknown-is-off: if (power [-=== 'off'-]{+!== 'on'+}) return ['on'];
src/adapters/provider/static/resets/own-program.ts test/adapters/provider/static/resets/decisions.test.ts
  resets-a-failed-program-did-nothing: outcome: kind === undefined && changing{+ && exitCode === 0+} ?
src/adapters/driver-kit/program.ts test/adapters/provider/static/resets/own-program.test.ts -t processes
  resets-children-run-on: process.kill([--pid-]{+pid+}, 'SIGKILL')
src/adapters/driver-kit/program.ts test/adapters/provider/static/resets/own-program.test.ts -t little else
  resets-our-environment-is-theirs: env: { {+...process.env, +}PATH:
src/adapters/provider/static/static-provider.ts test/adapters/provider/static/resets/own-program.test.ts -t without Reset
  resets-bare-machines-lack-nothing: canReset && entry.reset === null{+ && !canReset+} ?
src/adapters/provider/static/static-provider.ts test/daemon/self-install.test.ts -t without SSH
  self-install-of-a-lost-machine: const isLost = answers === false{+ && answers+} &&
src/adapters/provider/static/install/self-install.ts test/adapters/provider/static/install/self-install.test.ts
  self-install-the-hash-is-proof: sha256([-reading['secret'] ?? ''-]{+'secret'+}) !==
  self-install-a-person-s-system-stays-failed: identityOf(entry, [-entry.hostKey-]{+install.self.listedKey+}, install
src/domain/recovery/rungs.ts test/domain/recovery/ladder.test.ts test/actors/tasks/recovery
  ladder-lacks-are-ignored: means.lacks?.includes(needed){+ && needed === null+} ? 'machine'
src/actors/tasks/recovery/power-cycle.ts test/actors/tasks/recovery/power-cycle.test.ts
  power-on-is-asked-of-a-machine-without: return lackOf('power', [-means-]{+provider.capabilities+}) === null
`;
