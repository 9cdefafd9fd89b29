import { silentLog } from '../../src/adapters/log/port.ts';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';
import type {
  AcceptanceCheck,
  AcceptanceReport,
  AcceptanceRequest,
} from '../../src/domain/acceptance.ts';
import type { ReportedCondition } from '../../src/domain/conditions.ts';
import { machineId } from '../../src/domain/ids.ts';
import type { HeartbeatOutcome, HeartbeatRecord } from '../../src/domain/heartbeat.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import { createMemoryDisk } from './memory-disk.ts';
import { createHost, type Host, type HostSystem } from '../../emulators/hosts/host.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../src/wire/codec.ts';
import { createFakeHost, type FakeHost } from './fake-shell.ts';

export const AGENT_PATH = '/root/agent';

/** A machine that has booted. Its agent reports until the machine reboots or the agent is ended. */
export interface SimulatedMachine extends FakeHost {
  /** Ends the agent; the machine keeps running. */
  killAgent(): void;
  /**
   * Breaks the machine until this remedy or a stronger one is applied; without a remedy, for good.
   */
  die(remedy?: Remedy): void;
  /** Repairs the hardware by hand; the next boot succeeds. */
  repair(): void;
  /** Another system answers at its address, with its own host key, until `endImpersonation`. */
  impersonate(hostKey: string): void;
  endImpersonation(): void;
  /** Duration of its next boots, instead of the usual time. */
  bootMs: number | null;
  /** What happens to its agent's calls on their way. */
  calls: AgentCalls;
  /** Result of an image's installation; null: the image is not installed. */
  installs: 'Success' | 'Error' | null;
  /** What its agents report as wrong with it; they send it after each change. */
  conditions: readonly ReportedCondition[];
  /** What its agents find at an acceptance; null: they are too old to answer. */
  memoryGiB: number | null;
  /** Number of running agents; more than one is wrong. */
  readonly agents: number;
  /** How often an agent was started on it. */
  readonly executions: number;
  boot(bootId: string): void;
  /** Applies a remedy that may bring the machine back. */
  treat(remedy: Remedy): void;
}

/** `lateMs`: each call takes up to this long, so calls may overtake each other. */
export interface AgentCalls {
  readonly isLost?: boolean;
  readonly isDoubled?: boolean;
  readonly lateMs?: number;
  /** Size of the hardware report in each call. */
  readonly reportBytes?: number;
}

/** Remedies for a broken machine, mildest first. */
export const REMEDIES = ['reboot', 'powerCycle', 'reinstallation'] as const;
export type Remedy = (typeof REMEDIES)[number];

export interface MemMachinesDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Time from a reboot until the machine answers. */
  readonly bootMs: number;
  /** Delivers a heartbeat to an agent server; rejects when no server accepts it. */
  readonly report: (record: HeartbeatRecord) => Promise<HeartbeatOutcome>;
}

const NONE: readonly ReportedCondition[] = [];
const INSTALLATION_MS = 5 * 60_000;
/** An agent without an answer tries again, perhaps at another server. */
const RETRY_MS = 5_000;

function testOf(
  { id, profile }: AcceptanceRequest,
  memoryGiB: number | null,
): AcceptanceReport | null {
  if (memoryGiB === null) return null;
  const wanted = profile.memoryGiB ?? 0;
  const check: AcceptanceCheck = {
    ...{ name: 'memory', expected: wanted ? `${wanted} GiB` : '', found: `${memoryGiB} GiB` },
    status: memoryGiB >= wanted ? 'ok' : 'failed',
  };
  return { id, checks: [check], found: { memoryGiB } };
}

/** A provider's machines in memory and the agents on them, for the fake shell. */
export function createMemMachines({ clock, random, report, bootMs }: MemMachinesDeps) {
  /** SSH hosts by address and port. */
  const hosts = new Map<string, SimulatedMachine>();
  const byAddress = new Map<string, Host<HostSystem>>();
  const timers = new Set<unknown>();

  const later = (fn: () => void, ms: number) => {
    const timer = clock.setTimeout(() => {
      timers.delete(timer);
      fn();
    }, ms);
    timers.add(timer);
  };

  /** Calls until it is ended. @returns a function that ends it. */
  function startAgent(host: SimulatedMachine, stdin: Buffer, reboot: () => void) {
    const init = takeoverInitCodec.decode(stdin);
    const publicKey = Buffer.from(random.uuid().replaceAll('-', '').repeat(2), 'hex');
    const { bootId } = host;
    const id = machineId(init.machineId ?? '');
    let alive = true;
    let installed: HeartbeatRecord['installationReport'];
    /** Generation of the present or last image installation. */
    let installing: bigint | undefined;
    /** Accepted by a server. */
    let told = NONE;
    let tested: AcceptanceReport | null = null;
    const isRunning = () => alive && host.bootId === bootId;

    async function call(): Promise<void> {
      if (!isRunning()) return;
      const { reportBytes = 0 } = host.calls;
      const { conditions } = host;
      const outcome = await report({
        ...{ machineId: id, publicKey, bootId },
        ...(installed && { installationReport: installed }),
        ...(conditions !== told && { conditions }),
        ...(tested && { acceptance: tested }),
        ...(reportBytes > 0 && { hardwareReport: new Uint8Array(reportBytes) }),
      });
      if (outcome.kind !== 'accepted' || !isRunning()) return;
      told = conditions;
      tested = outcome.acceptance ? testOf(outcome.acceptance, host.memoryGiB) : null;
      if (outcome.mayReboot) reboot();
      else install(outcome.requestGeneration);
    }
    function install(generation: bigint | undefined): void {
      const result = host.installs;
      if (generation === undefined || generation === installing || !result) return;
      installing = generation;
      later(() => (installed = { generation, result, raw: new Uint8Array([1]) }), INSTALLATION_MS);
    }
    const beat = () => {
      if (!isRunning()) return;
      const { isLost, isDoubled, lateMs } = host.calls;
      // An agent that is cut off retries forever.
      const copies = host.unreachable || isLost ? 0 : isDoubled ? 2 : 1;
      for (let copy = 0; copy < copies; copy += 1) {
        const send = () =>
          void call().catch(() => later(() => void call().catch(() => undefined), RETRY_MS));
        if (lateMs) later(send, lateMs * random.next());
        else send();
      }
      later(beat, DEFAULT_LOSS.periodMs);
    };
    later(beat, 1_000);
    return {
      isRunning,
      stop: () => void (alive = false),
      answer: {
        stdout: takeoverResponseCodec.encode({ success: { initMessage: init, key: publicKey } }),
      },
    };
  }

  function newShown(reboot: () => void): SimulatedMachine {
    let executions = 0;
    const agents: ReturnType<typeof startAgent>[] = [];
    /** Position in `REMEDIES` of the needed remedy; null: none is needed. */
    let needs: number | null = null;
    /** The machine's own key and secret while a stranger's system hides them. */
    let own: Pick<FakeHost, 'hostKey' | 'secret'> | null = null;
    const host = Object.assign(createFakeHost({ unreachable: true }), {
      killAgent() {
        for (const { stop } of agents.splice(0)) stop();
      },
      bootMs: null,
      calls: {},
      conditions: NONE,
      memoryGiB: 64,
      installs: 'Success' as const,
      impersonate(hostKey: string) {
        own ??= { hostKey: host.hostKey, secret: host.secret };
        host.killAgent();
        Object.assign(host, { hostKey, secret: null, bootId: random.uuid() });
      },
      endImpersonation() {
        if (own) Object.assign(host, { ...own, bootId: random.uuid() });
        own = null;
      },
      die(remedy?: Remedy) {
        needs = remedy ? REMEDIES.indexOf(remedy) : REMEDIES.length;
        host.unreachable = true;
        host.killAgent();
      },
      repair() {
        needs = null;
      },
      treat(remedy: Remedy) {
        if (needs !== null && REMEDIES.indexOf(remedy) >= needs) needs = null;
      },
      boot(id: string) {
        host.bootId = id;
        host.unreachable = needs !== null;
      },
      run([path, ...args]: readonly string[], stdin: Buffer) {
        if (path === 'sh' && args[2] === 'stop-agent') {
          host.killAgent();
          return {};
        }
        if (path !== AGENT_PATH || !host.files.has(AGENT_PATH)) return { exitCode: 127 };
        executions += 1;
        // As the agent program itself does.
        host.killAgent();
        const agent = startAgent(host as unknown as SimulatedMachine, stdin, reboot);
        agents.push(agent);
        return agent.answer;
      },
    });
    return Object.defineProperties(host, {
      executions: { get: () => executions },
      agents: { get: () => agents.filter(({ isRunning }) => isRunning()).length },
    }) as SimulatedMachine;
  }

  function add(address: string, system: HostSystem): Host<HostSystem> {
    const shown = newShown(() => {
      void host.off();
      later(() => void host.on(), shown.bootMs ?? bootMs);
    });
    const disk = createMemoryDisk(silentLog);
    const host: Host<HostSystem> = createHost(system, {
      newBootId: random.uuid,
      disk: {
        ...disk,
        async wipe() {
          await disk.wipe();
          shown.files.clear();
        },
        async runScript(script) {
          await disk.runScript(script);
          shown.endImpersonation();
          shown.hostKey = host.system().hostKey;
          shown.secret = disk.files.get(INSTANCE_SECRET_PATH) ?? null;
        },
      },
      programs: {
        async end() {
          shown.killAgent();
          return 1;
        },
      },
      listener: {
        async open() {
          shown.boot(host.state().bootId!);
        },
        async close() {
          shown.unreachable = true;
        },
      },
    });
    hosts.set(`${address}:22`, shown);
    byAddress.set(address, host);
    return host;
  }

  const find = (address: string) => byAddress.get(address)!;
  const rise = (address: string, remedy: Remedy) => {
    const shown = hosts.get(`${address}:22`)!;
    // It may have moved to another address before it is up.
    const host = find(address);
    shown.treat(remedy);
    later(() => void host.on(), shown.bootMs ?? bootMs);
  };

  return {
    hosts,
    raise(_: ProviderMachine, userdata: string): string {
      const address = `192.0.2.${hosts.size + 1}`;
      void add(address, { hostKey: `key of ${address}`, authorizedKeys: [], userdata }).on();
      return address;
    },
    reboot(address: string) {
      void find(address).off();
      rise(address, 'reboot');
    },
    down: (address: string) => void find(address).off(),
    /** A first-boot script means a new system. */
    up(address: string, userdata: string | null) {
      if (userdata !== null) {
        const hostKey = `key of ${address} since ${random.uuid()}`;
        void find(address).install({ hostKey, userdata });
      }
      rise(address, userdata === null ? 'powerCycle' : 'reinstallation');
    },
    /** Another address leads to the machine from now on. */
    move(from: string, to: string) {
      hosts.set(`${to}:22`, hosts.get(`${from}:22`)!);
      byAddress.set(to, find(from));
      hosts.delete(`${from}:22`);
      byAddress.delete(from);
    },
    /** Ends all agents, so that none of their timers is left. */
    end() {
      for (const timer of timers) clock.clearTimeout(timer);
    },
  };
}
