import { createHash } from 'node:crypto';
import { createInspection } from '../../src/adapters/inspector/inspection.ts';
import type { BalancerDriver } from '../../src/adapters/balancer/port.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import type { Driver } from '../../src/adapters/provider/port.ts';
import { createDriverShell } from '../../src/adapters/ssh/driver-shell.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import type { Ports } from '../../src/daemon/ports.ts';
import {
  openMemAgents,
  type MemAgentServer,
  type MemAgentServerOptions,
} from '../doubles/mem-agent-server.ts';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import { clockScheduler } from './clock-scheduler.ts';

const PROGRAM = Buffer.from('the agent');

/** What a daemon without a real world needs. */
export interface MemPortsOptions extends Pick<Ports, 'random' | 'log'> {
  readonly clock: Clock;
  readonly bmdb: Bmdb;
  readonly shell: RemoteShell;
  readonly drivers: readonly Driver[];
  readonly balancerDrivers?: readonly BalancerDriver[];
  readonly agents?: Partial<Pick<MemAgentServerOptions, 'isReady' | 'batch'>>;
  /** Called with the daemon's agent server, to which agents report. */
  readonly onAgentServer?: (server: MemAgentServer) => void;
}

/** Ports of a daemon in memory and virtual time, without any part of the real world. */
export function memPorts(options: MemPortsOptions): Ports & { readonly metrics: MemMetrics } {
  const { clock, random, log, bmdb, shell, drivers } = options;
  return {
    clock,
    random,
    log,
    levels: null,
    recentLog: null,
    scheduler: clockScheduler(clock),
    metrics: createMemMetrics(),
    hostname: 'memory',
    schema: 'memory',
    balancerDrivers: new Map((options.balancerDrivers ?? []).map((each) => [each.name, each])),
    drivers: new Map(drivers.map((driver) => [driver.name, driver])),
    loadAgent: async () => ({ content: PROGRAM, sha256: sha256(PROGRAM), mode: 0o755 }),
    openShell: async () => ({
      shell,
      driverShell: createDriverShell({ shellFor: () => shell, log }),
      keys: { publicLine: 'ssh-ed25519 AAAA memory' },
      renewKeys: async () => undefined,
    }),
    openBmdb: async () => bmdb,
    async openAgentServer(_, { store, isReady }) {
      const opened = openMemAgents({ store, clock, log, isReady, ...options.agents });
      options.onAgentServer?.(opened.server);
      return opened;
    },
    readAuthority: async () => new Uint8Array(0),
    startConsole: async () => ({
      url: 'memory:',
      certificateNotAfterMs: () => null,
      reload: () => undefined,
      close: async () => undefined,
    }),
    createWebhookSender: () => {
      throw new Error('no webhook is configured');
    },
    createIdentities: () => {
      throw new Error('there is no provider of identities in memory');
    },
    startInspector: () => Promise.reject(new Error('there is no inspector in memory')),
    createInspection,
    inspect: null,
  };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
