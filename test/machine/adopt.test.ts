import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isHealthy, startDaemon, STORY_LIMIT_MS } from './daemon.ts';
import { buildDisk } from './guest.ts';
import { startLibvirt } from './libvirt.ts';
import { startRack } from './rack.ts';
import { hasMachines, openStand } from './stand.ts';

const SLOT = 'srv-1';

/** A machine in use, and a daemon that was told of it. */
async function adopt({ behindLibvirt = false } = {}) {
  const { dir, agent, guest, key, onMachine } = await openStand();
  const libvirt = behindLibvirt ? await startLibvirt(dir) : null;
  if (libvirt) onTestFinished(libvirt.stop);
  let hostKey = '';
  const content = { guest, agent, hasAgent: true, authorizedKey: key.publicLine };
  const rack = await startRack({
    ...{ dir, startsOn: true, ...(libvirt && { start: libvirt.start }) },
    writeDisk: (file) => void (hostKey = buildDisk(file, content)),
  });
  onTestFinished(rack.close);
  const machine = rack.machine();
  const entry = { ...rack.entry(), ID: SLOT, HostKey: hostKey };
  writeFileSync(join(dir, 'inventory.json'), JSON.stringify([entry]));
  const { credentials } = rack.bmcs;
  const daemon = await startDaemon({
    dir,
    agent,
    credentials,
    short: { powerPoll: '5s' },
    rack: {},
  });
  onTestFinished(async () => void (await daemon.stop()));

  const counted = (words: string) => machine.console().split(words).length - 1;
  const seen = { resets: 0, boots: 0 };
  return {
    ...{ daemon, rack, machine, counted },
    /** What the BMC was asked, and the console showed, since the last look. */
    news() {
      const resets = rack.resets().slice(seen.resets);
      const boots = counted('machine: boot ') - seen.boots;
      Object.assign(seen, { resets: rack.resets().length, boots: seen.boots + boots });
      return { resets, boots };
    },
    async runsAgainAfter(blow: () => Promise<unknown>) {
      const { agent: before } = await daemon.machine(SLOT);
      await blow();
      const since = before!.startedAtMs;
      await daemon.becomes(SLOT, (now) => isHealthy(now) && now.agent!.startedAtMs > since);
    },
    onMachine: (command: string) => onMachine(machine.sshPort, command),
    tell: () => daemon.tell(SLOT, rack.peak.bytes),
  };
}

test.runIf(hasMachines)(
  'brings back a machine in use that loses its agent, its disk, its power or its network, or freezes',
  async () => {
    const { daemon, rack, machine, counted, news, runsAgainAfter, onMachine, tell } = await adopt();
    await daemon.becomes(SLOT, isHealthy);
    expect(news()).toEqual({ resets: [], boots: 1 });

    // The kernel remounts its disk read-only, as after an error of it; then the agent dies. It is
    // started again, and tells. Nothing is rebooted for it.
    const dies = 'echo u >/proc/sysrq-trigger; kill -9 $(pidof agent)';
    await runsAgainAfter(() => onMachine(dies));
    await daemon.becomes(SLOT, ({ conditionRows }) =>
      conditionRows.some(({ type, status }) => type === 'root-read-only' && status === 'True'),
    );
    expect(news()).toEqual({ resets: [], boots: 0 });

    // A frozen machine ignores the graceful request. The daemon is killed after it.
    await runsAgainAfter(async () => {
      await machine.on!.freeze();
      await daemon.becomes(
        SLOT,
        ({ ladder }) => ladder?.operationRef?.startsWith('Graceful') === true,
      );
      await daemon.crash();
    });
    expect(news()).toEqual({ resets: ['GracefulRestart', 'ForceRestart'], boots: 1 });
    expect([counted('power button'), counted('reboot: ')]).toEqual([0, 0]);

    await runsAgainAfter(async () => rack.bmcs.reset('system-1', 'ForceOff'));
    expect(news()).toEqual({ resets: ['On'], boots: 1 });

    // Its three reboots are used up. A cold start revives the network card.
    await runsAgainAfter(() => machine.on!.cut());
    expect(news()).toEqual({ resets: ['ForceOff', 'On'], boots: 1 });

    // A healthy machine heeds.
    const reboot = ['machine', 'reboot', `rack/${SLOT}`, '--reason', 'a new kernel'];
    await runsAgainAfter(() => daemon.command(...reboot));
    expect(news()).toEqual({ resets: ['GracefulRestart'], boots: 1 });
    expect([counted('power button'), counted('reboot: Power down')]).toEqual([1, 1]);
    await tell();
  },
  STORY_LIMIT_MS,
);

test.runIf(hasMachines)(
  'brings back a machine of libvirt that freezes or loses its power, and reboots it on request',
  async () => {
    const { daemon, rack, machine, counted, news, runsAgainAfter, tell } = await adopt({
      behindLibvirt: true,
    });
    await daemon.becomes(SLOT, isHealthy);
    const reboot = ['machine', 'reboot', `rack/${SLOT}`, '--reason', 'a new kernel'];
    await runsAgainAfter(() => daemon.command(...reboot));
    expect(news()).toEqual({ resets: ['GracefulRestart'], boots: 2 });
    expect([counted('power button'), counted('reboot: Power down')]).toEqual([1, 1]);
    await runsAgainAfter(() => machine.on!.freeze());
    expect(news()).toEqual({ resets: ['GracefulRestart', 'ForceRestart'], boots: 1 });
    await runsAgainAfter(async () => rack.bmcs.reset('system-1', 'ForceOff'));
    expect(news()).toEqual({ resets: ['On'], boots: 1 });
    await tell();
  },
  STORY_LIMIT_MS,
);
