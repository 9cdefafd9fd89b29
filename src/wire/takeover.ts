import protobuf from 'protobufjs/minimal.js';
import type { Reader } from 'protobufjs/minimal.js';
import { onWire } from './codec.ts';
import type { TakeoverInit } from './codec.ts';
import { cloud } from './messages.js';

const { TakeoverResponse } = cloud.agent.api;

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

const malformed = (message: string): TakeoverVerdict => ({ kind: 'malformed', message });

/** Judges all that the takeover wrote to its standard output. Never throws. */
export function readTakeoverResponse(sent: TakeoverInit, stdout: Uint8Array): TakeoverVerdict {
  let response: cloud.agent.api.TakeoverResponse;
  try {
    response = onWire('cannot read TakeoverResponse', () =>
      TakeoverResponse.decode(keepUnknown(stdout)),
    );
  } catch (error) {
    return malformed(error instanceof Error ? error.message : String(error));
  }
  if (response.error) return { kind: 'refused', message: response.error.message ?? '' };
  if (!response.success) return malformed('the takeover answered without a result');
  return readSuccess(sent, response.success);
}

/** By default a reader drops the fields it does not know; here they decide. */
function keepUnknown(bytes: Uint8Array): Reader {
  const reader = protobuf.Reader.create(bytes);
  reader.discardUnknown = false;
  return reader;
}

function readSuccess(
  sent: TakeoverInit,
  { initMessage, key, warning }: cloud.agent.api.TakeoverSuccess.$Properties,
): TakeoverVerdict {
  if (!initMessage || !isSameInit(sent, initMessage)) {
    return malformed('the takeover echoed another message than the one it was sent');
  }
  if (key?.length !== PUBLIC_KEY_BYTES) {
    return malformed(`the agent's key has ${key?.length ?? 0} bytes, not ${PUBLIC_KEY_BYTES}`);
  }
  return { kind: 'started', publicKey: Uint8Array.from(key), warnings: [...(warning ?? [])] };
}

/**
 * Compares decoded fields, not encodings, which may differ for one message. A field that we do not
 * know was not in what we sent, so it makes the echo another message.
 */
function isSameInit(sent: TakeoverInit, echo: cloud.agent.api.TakeoverInit.$Properties): boolean {
  if ((echo.$unknowns ?? []).length > 0) return false;
  return (
    (sent.machineId ?? '') === (echo.machineId ?? '') &&
    (sent.bmaasEndpoint ?? '') === (echo.bmaasEndpoint ?? '') &&
    Buffer.compare(sent.caCertificate ?? EMPTY, echo.caCertificate ?? EMPTY) === 0 &&
    // An agent from before the field leaves it out, and never throws its system away unasked.
    (sent.throwAway === true || echo.throwAway !== true)
  );
}

const EMPTY = new Uint8Array();
