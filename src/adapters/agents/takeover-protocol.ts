import { Malformed, RemoteFailure } from '../../domain/errors.ts';
import { visibleText } from '../../lib/texts.ts';
import { takeoverInitCodec } from '../../wire/codec.ts';
import { readTakeoverResponse, type TakeoverVerdict } from '../../wire/takeover.ts';
import type { TakeoverProtocol, SystemTerms } from './port.ts';

/** What every agent of this daemon learns. */
export interface TakeoverProtocolOptions {
  /** `host:port` that agents report to. */
  readonly endpoint: string;
  /** DER of the authority that agents trust; may be replaced. Empty: their system's roots. */
  readonly caCertificate: Uint8Array | (() => Uint8Array);
}

const KEPT: SystemTerms = { throwAway: false };

const RECEIVED_MAX = 200;

/** Quotes the output that came instead of an answer, with its usual cause. */
function receivedText(stdout: Uint8Array): string {
  const text = Buffer.from(stdout).toString('utf8').replaceAll(/\s+/g, ' ').trim();
  if (text === '') return 'received: nothing';
  return (
    `received: "${visibleText(text, RECEIVED_MAX)}"; commands over SSH must print nothing of their ` +
    "own: see that the account's .bashrc or .profile does not"
  );
}

/** Creates the takeover messages of `proto/`, as an agent reads them from its standard input. */
export function createTakeoverProtocol(options: TakeoverProtocolOptions): TakeoverProtocol {
  const { endpoint, caCertificate } = options;
  const authority = typeof caCertificate === 'function' ? caCertificate : () => caCertificate;
  // An agent whose takeover began before the authority was replaced echoes the old one.
  const told: [now: Uint8Array, before: Uint8Array | null] = [authority(), null];
  const refresh = () => {
    const found = authority();
    if (Buffer.compare(found, told[0]) !== 0) told.splice(0, 2, found, told[0]);
  };
  const initFor = (machineId: string, { throwAway }: SystemTerms, caCertificate: Uint8Array) => ({
    machineId,
    bmaasEndpoint: endpoint,
    caCertificate,
    throwAway,
  });
  const judge = (machineId: string, of: SystemTerms, stdout: Uint8Array): TakeoverVerdict => {
    const [now, before] = told;
    const verdict = readTakeoverResponse(initFor(machineId, of, now), stdout);
    if (verdict.kind !== 'malformed' || before === null) return verdict;
    const older = readTakeoverResponse(initFor(machineId, of, before), stdout);
    return older.kind === 'malformed' ? verdict : older;
  };
  return {
    request(machineId, of = KEPT) {
      refresh();
      return takeoverInitCodec.encode(initFor(machineId, of, told[0]));
    },
    answer(machineId, stdout, of = KEPT) {
      const verdict = judge(machineId, of, stdout);
      if (verdict.kind === 'started') return verdict;
      const said = `the agent's answer for machine ${machineId}: ${visibleText(verdict.message)}`;
      if (verdict.kind === 'refused') throw new RemoteFailure(said);
      throw new Malformed(`${said}; ${receivedText(stdout)}`);
    },
  };
}
