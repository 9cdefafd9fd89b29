import { describe } from 'vitest';
import { createMemAgentServer } from '../../doubles/mem-agent-server.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { isRetryable } from '../../../src/domain/errors.ts';
import type { HeartbeatOutcome } from '../../../src/domain/heartbeat.ts';
import {
  hardwareReportCodec,
  installationReportCodec,
  installationRequestCodec,
} from '../../../src/wire/codec.ts';
import { GrpcError, GrpcStatus } from '../../../src/wire/grpc.ts';
import { agentServerContract, type AgentAnswer, type Beat } from '../../contracts/agents.ts';
import { createClients, startTestServer } from './test-server.ts';

describe.each([
  ['http2', false],
  ['http2 in a thread of its own', true],
])('%s', (name, inThread) => {
  agentServerContract(name, async (store, isReady) => {
    const { server, trust } = await startTestServer({ store, isReady }, undefined, inThread);
    const clients = createClients(server.address, trust);
    return {
      server,
      dispose: clients.close,
      beat: async ({ key, ...request }) => {
        try {
          const client = await clients.of(key);
          const response = await client.heartbeat(request, new AbortController().signal);
          const { installationRequest } = response;
          return { kind: 'accepted', generation: installationRequest?.generation ?? null };
        } catch (error) {
          return fromGrpc(error);
        }
      },
    };
  });
});

const KINDS = new Map<number, 'unauthenticated' | 'invalid' | 'unavailable'>([
  [GrpcStatus.unauthenticated, 'unauthenticated'],
  [GrpcStatus.invalidArgument, 'invalid'],
  [GrpcStatus.unavailable, 'unavailable'],
]);

function fromGrpc(error: unknown): AgentAnswer {
  const kind = error instanceof GrpcError ? KINDS.get(error.status) : undefined;
  if (!kind) throw error;
  return { kind, text: (error as GrpcError).message };
}

agentServerContract('memory', (store, isReady) => {
  const server = createMemAgentServer({ store, clock: systemClock, isReady });
  return Promise.resolve({
    server,
    dispose: () => undefined,
    beat: async (beat) => {
      try {
        return fromOutcome(await server.report(toRecord(beat)));
      } catch (error) {
        if (!isRetryable(error)) throw error;
        return { kind: 'unavailable', text: String(error) };
      }
    },
  });
});

const toRecord = ({ key, hardwareReport, installationReport, ...beat }: Beat) => ({
  machineId: beat.machineId,
  publicKey: key.publicKey,
  bootId: beat.bootId ?? null,
  ...(hardwareReport ? { hardwareReport: hardwareReportCodec.encode(hardwareReport) } : {}),
  ...(installationReport
    ? {
        installationReport: {
          generation: installationReport.generation ?? 0n,
          result: installationReport.success ? ('Success' as const) : ('Error' as const),
          raw: installationReportCodec.encode(installationReport),
        },
      }
    : {}),
});

function fromOutcome(outcome: HeartbeatOutcome): AgentAnswer {
  if (outcome.kind === 'unauthenticated') return { kind: 'unauthenticated', text: '' };
  if (outcome.kind === 'invalid') return { kind: 'invalid', text: outcome.message };
  const { installationRequest: raw } = outcome;
  const generation = raw ? (installationRequestCodec.decode(raw).generation ?? null) : null;
  return { kind: 'accepted', generation };
}
