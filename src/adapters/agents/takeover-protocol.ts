import { Malformed, RemoteFailure } from '../../domain/errors.ts';
import { takeoverInitCodec } from '../../wire/codec.ts';
import { readTakeoverResponse } from '../../wire/takeover.ts';
import type { TakeoverProtocol } from './port.ts';

/** What every agent of this daemon is told. */
export interface TakeoverProtocolOptions {
  /** `host:port` that agents report to. */
  readonly endpoint: string;
  /** DER of the authority they are to trust; empty: their system's roots. */
  readonly caCertificate: Uint8Array;
}

/** The takeover messages of `proto/`, as an agent reads them from its standard input. */
export function createTakeoverProtocol(options: TakeoverProtocolOptions): TakeoverProtocol {
  const { endpoint, caCertificate } = options;
  const initFor = (machineId: string) => ({
    machineId,
    bmaasEndpoint: endpoint,
    caCertificate,
  });
  return {
    request: (machineId) => takeoverInitCodec.encode(initFor(machineId)),
    answer(machineId, stdout) {
      const verdict = readTakeoverResponse(initFor(machineId), stdout);
      if (verdict.kind === 'started') return verdict;
      const what = `the agent's answer for machine ${machineId}`;
      if (verdict.kind === 'refused') throw new RemoteFailure(`${what}: ${verdict.message}`);
      throw new Malformed(`${what}: ${verdict.message}`);
    },
  };
}
