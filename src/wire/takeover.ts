import protobuf from 'protobufjs/light.js';
import { messageType, onWire, plain, type TakeoverInit, type TakeoverResponse } from './codec.ts';
import type { TakeoverSuccess } from './messages.ts';

/** A reader's copy of unknown fields. */
interface Unknowns {
  readonly $unknowns?: readonly Uint8Array[];
}

const RESPONSE = messageType('cloud.agent.api.TakeoverResponse');

/** Raw Ed25519 public keys have this many bytes. */
export const PUBLIC_KEY_BYTES = 32;

/** The checked answer of an agent start. */
export type TakeoverVerdict =
  | {
      readonly kind: 'started';
      /** Raw Ed25519 public key, 32 bytes. */
      readonly publicKey: Uint8Array;
      readonly warnings: readonly string[];
    }
  /** The program could not start the agent. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Not the answer to our input: garbage, another echo, or a key of the wrong size. */
  | { readonly kind: 'malformed'; readonly message: string };

const ANOTHER_ECHO = 'the agent start echoed a different message than it received';

const malformed = (message: string): TakeoverVerdict => ({ kind: 'malformed', message });

/** Judges all standard output of the agent start. Never throws. */
export function readTakeoverResponse(sent: TakeoverInit, stdout: Uint8Array): TakeoverVerdict {
  let message: protobuf.Message;
  try {
    message = onWire('cannot read TakeoverResponse', () => RESPONSE.decode(keepUnknown(stdout)));
  } catch (error) {
    return malformed(error instanceof Error ? error.message : String(error));
  }
  const response: TakeoverResponse = plain(message);
  if (response.error) return { kind: 'refused', message: response.error.message ?? '' };
  if (!response.success) return malformed('the agent start answered without a result');
  if (echoesUnknown(message)) return malformed(ANOTHER_ECHO);
  return readSuccess(sent, response.success);
}

/** Readers drop unknown fields by default; here they matter. */
function keepUnknown(bytes: Uint8Array): protobuf.Reader {
  const reader = protobuf.Reader.create(bytes);
  reader.discardUnknown = false;
  return reader;
}

function readSuccess(
  sent: TakeoverInit,
  { initMessage, key, warning }: TakeoverSuccess,
): TakeoverVerdict {
  if (!initMessage || !isSameInit(sent, initMessage)) return malformed(ANOTHER_ECHO);
  if (key?.length !== PUBLIC_KEY_BYTES) {
    return malformed(`the agent's key has ${key?.length ?? 0} bytes, not ${PUBLIC_KEY_BYTES}`);
  }
  return { kind: 'started', publicKey: Uint8Array.from(key), warnings: [...(warning ?? [])] };
}

/** An unknown field was not in our input, so that the echo differs. */
const echoesUnknown = (
  response: protobuf.Message & { readonly success?: { initMessage?: Unknowns } },
) => (response.success?.initMessage?.$unknowns ?? []).length > 0;

/** Compares decoded fields, because encodings of one message may differ. */
function isSameInit(sent: TakeoverInit, echo: TakeoverInit): boolean {
  return (
    (sent.machineId ?? '') === (echo.machineId ?? '') &&
    (sent.bmaasEndpoint ?? '') === (echo.bmaasEndpoint ?? '') &&
    Buffer.compare(sent.caCertificate ?? EMPTY, echo.caCertificate ?? EMPTY) === 0 &&
    // An agent older than the field leaves it out, and never gives up its system without a request.
    (sent.throwAway === true || echo.throwAway !== true)
  );
}

const EMPTY = new Uint8Array();
