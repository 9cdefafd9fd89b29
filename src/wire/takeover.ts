import protobuf from 'protobufjs/light.js';
import { messageType, onWire, plain, type TakeoverInit, type TakeoverResponse } from './codec.ts';
import type { TakeoverSuccess } from './messages.ts';

/** What a reader keeps of fields that the schema does not know. */
interface Unknowns {
  readonly $unknowns?: readonly Uint8Array[];
}

const RESPONSE = messageType('cloud.agent.api.TakeoverResponse');

/** Raw Ed25519 public keys have this many bytes. */
export const PUBLIC_KEY_BYTES = 32;

/** What a takeover said of itself, once its answer was checked. */
export type TakeoverVerdict =
  | {
      readonly kind: 'started';
      /** Raw Ed25519 public key, 32 bytes. */
      readonly publicKey: Uint8Array;
      readonly warnings: readonly string[];
    }
  /** The program could not start the agent. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Not the answer to what was sent: garbage, another echo, a key of the wrong size. */
  | { readonly kind: 'malformed'; readonly message: string };

const ANOTHER_ECHO = 'the takeover echoed another message than the one it was sent';

const malformed = (message: string): TakeoverVerdict => ({ kind: 'malformed', message });

/** Judges all that the takeover wrote to its standard output. Never throws. */
export function readTakeoverResponse(sent: TakeoverInit, stdout: Uint8Array): TakeoverVerdict {
  let message: protobuf.Message;
  try {
    message = onWire('cannot read TakeoverResponse', () => RESPONSE.decode(keepUnknown(stdout)));
  } catch (error) {
    return malformed(error instanceof Error ? error.message : String(error));
  }
  const response: TakeoverResponse = plain(message);
  if (response.error) return { kind: 'refused', message: response.error.message ?? '' };
  if (!response.success) return malformed('the takeover answered without a result');
  if (echoesUnknown(message)) return malformed(ANOTHER_ECHO);
  return readSuccess(sent, response.success);
}

/** By default a reader drops the fields it does not know; here they decide. */
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

/** A field that we do not know was not in what we sent, so it makes the echo another message. */
const echoesUnknown = (
  response: protobuf.Message & { readonly success?: { initMessage?: Unknowns } },
) => (response.success?.initMessage?.$unknowns ?? []).length > 0;

/** Compares decoded fields, not encodings, which may differ for one message. */
function isSameInit(sent: TakeoverInit, echo: TakeoverInit): boolean {
  return (
    (sent.machineId ?? '') === (echo.machineId ?? '') &&
    (sent.bmaasEndpoint ?? '') === (echo.bmaasEndpoint ?? '') &&
    Buffer.compare(sent.caCertificate ?? EMPTY, echo.caCertificate ?? EMPTY) === 0 &&
    // An agent from before the field leaves it out, and never throws its system away unasked.
    (sent.throwAway === true || echo.throwAway !== true)
  );
}

const EMPTY = new Uint8Array();
