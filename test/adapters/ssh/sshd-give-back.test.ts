import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fromPromise } from 'xstate';
import { deprovisionServices } from '../../../src/actors/tasks/deprovision.ts';
import { agentStartServices } from '../../../src/actors/tasks/agent-start.ts';
import { createTakeoverProtocol } from '../../../src/adapters/agents/takeover-protocol.ts';
import { createStaticProvider } from '../../../src/adapters/provider/static/static-provider.ts';
import { loadAgentProgram, type AgentProgram } from '../../../src/agent-bundle.ts';
import { AGENT_START_BACKOFF } from '../../../src/domain/backoff.ts';
import { reconcile } from '../../../src/domain/provisioning/reconcile.ts';
import type { MachineView } from '../../../src/domain/view.ts';
import { deprovision } from '../../../src/machines/deprovision.ts';
import { agentStart } from '../../../src/machines/agent-start.ts';
import type { Job } from '../../../src/machines/task.ts';
import { deprovisionAsked, MACHINE, PROVIDER, provided } from '../../support/facts.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { inFleet } from '../../support/in-fleet.ts';
import { createTaskStand } from '../../support/task-stand.ts';
import { driverContext, INSTANCE_SET_ID } from '../provider/driver-stand.ts';
import { commandOf, createSshdStand, live, patient } from './sshd-stand.ts';

/** A machine from a list, on OpenSSH's real server and with the real agent, from start to end. */
let program: AgentProgram;
beforeAll(async () => {
  program = await loadAgentProgram();
});
let ssh: ReturnType<typeof createSshdStand>;
beforeEach(() => void (ssh = createSshdStand()));
afterEach(() => ssh.close());

const ID = 'web-1';
const DEVICE = provided({ providerId: ID, reservationId: ID });

async function machineFromList() {
  const sshd = await ssh.sshd();
  const stand = createTaskStand();
  await stand.openSession();
  const inventory = join(await ssh.directory(), 'machines.json');
  const { host, port, username } = sshd.target;
  const entry = { ID, Addr: host, Location: 'lab', SshPort: port, SshUser: username };
  const list = (entries: readonly object[]) => writeFile(inventory, JSON.stringify(entries));
  await list([entry]);
  const driver = createStaticProvider(
    {
      inventory,
      refreshMs: 1,
      sshPasswords: {},
      resets: {},
      sshUser: 'nobody',
      probePort: 22,
      probes: { timeoutMs: 1_000, intervalMs: 1, parallelism: 1, gapMs: 0, patienceMs: 1_000 },
    },
    driverContext(PROVIDER, { clock: systemClock }),
  );
  const provider = inFleet(driver, { instanceSetId: INSTANCE_SET_ID }, systemClock);
  ssh.later(() => provider.stop());
  const agentPath = join(sshd.home, 'agent');
  const deps = {
    ...stand.deps('tofu'),
    shell: ssh.shellWith(),
    providers: new Map([[PROVIDER, provider]]),
  };
  const reread = fromPromise<MachineView | null, Job>(async () => null);
  const start = () => {
    const services = agentStartServices({
      ...deps,
      agent: { file: { ...program, mode: 0o755 }, targetPath: agentPath },
      // Nobody listens there. The agent keeps trying.
      protocol: createTakeoverProtocol({
        endpoint: '127.0.0.1:9',
        caCertificate: new Uint8Array(0),
      }),
      backoff: AGENT_START_BACKOFF,
    });
    return stand.runTask('agentStart', agentStart.provide({ actors: { ...services, reread } }));
  };
  const giveBack = () => {
    const { agentStarted, hostKey } = stand.row();
    stand.given({ provided: DEVICE, agentStarted, hostKey, deprovision: deprovisionAsked() });
    const services = deprovisionServices({
      ...deps,
      random: stand.random,
      holds: stand.holds,
      nowMs: stand.clock.now,
      pollMs: 10_000,
      agentPath,
    });
    return stand.runTask('deprovision', deprovision.provide({ actors: { ...services, reread } }));
  };
  /** The machines that the provisioner would adopt now. */
  const takenIn = async () => {
    const listing = await provider.listMachines({ signal: live });
    const rows = await stand.bmdb.scan(live);
    const { machines: listed, complete: listingComplete } = listing;
    const limits = { machinesMax: 0, chunkSize: Infinity };
    const plan = reconcile({ ...rows, ...limits, provider: PROVIDER, listed, listingComplete });
    return plan.creations.map(({ slotId }) => slotId);
  };
  stand.given({ provided: DEVICE });
  const agents = () => sshd.pids().filter((pid) => commandOf(pid).includes(`${agentPath}\0`));
  const agentLog = () => readFile(`${agentPath}.log`, 'utf8');
  return { sshd, stand, list, entry, start, giveBack, takenIn, agents, agentLog };
}

describe('C2, C3: the return of a machine from a list', () => {
  test.each(['still listed', 'removed from the list first'] as const)(
    '%s: removes its agent, does not reboot its host, and does not adopt it again',
    async (order) => {
      const it = await machineFromList();
      // A look at the machine reveals its address, as a daemon's looks do all the time.
      await it.takenIn();
      expect(await it.start()).toMatchObject({ outcome: 'done', failure: null });
      expect(it.agents()).toHaveLength(1);
      await expect.poll(it.agentLog, patient).toContain('heartbeats fail');
      if (order !== 'still listed') {
        await it.list([]);
        await expect.poll(it.takenIn, patient).toEqual([]);
      }
      expect(await it.giveBack()).toMatchObject({ outcome: 'done', failure: null });
      expect(it.agents()).toEqual([]);
      expect(await it.agentLog()).toMatch(/ended: stopped/);
      expect(await it.agentLog()).not.toMatch(/reboot/);
      expect(it.stand.bmdb.tables.machines.has(MACHINE)).toBe(false);
      await it.list([it.entry]);
      expect(await it.takenIn()).toEqual([]);
      // Only an operator ends this.
      expect(it.stand.bmdb.tables.holds).toMatchObject([{ slotId: ID, kind: 'no-allocate' }]);
      it.stand.bmdb.tables.holds = [];
      await expect.poll(it.takenIn, patient).toEqual([ID]);
    },
  );
});
