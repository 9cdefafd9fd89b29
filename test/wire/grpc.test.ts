import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  GrpcError,
  GrpcStatus,
  percentDecode,
  percentEncode,
  readFrame,
  statusOf,
  statusTrailers,
  writeFrame,
} from '../../src/wire/grpc.ts';

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]) {
  let at = 0;
  for (const size of sizes) {
    await Promise.resolve();
    yield bytes.subarray(at, (at += size));
  }
  yield bytes.subarray(at);
}

describe('grpc framing', () => {
  test('restores a message, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 100 }),
        fc.array(fc.nat(20)),
        async (message, sizes) => {
          const read = await readFrame(inPieces(writeFrame(message), sizes), 100);
          expect(Buffer.compare(read, message)).toBe(0);
        },
      ),
    );
  });

  test('refuses a prefix with too great a length at once', async () => {
    const frame = Buffer.from('00ffffffff', 'hex');
    await expect(readFrame(inPieces(frame, []), 1000)).rejects.toMatchObject({
      status: GrpcStatus.resourceExhausted,
    });
  });

  test('stops reading as soon as the limit is exceeded', async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        await Promise.resolve();
        given += 1;
        yield new Uint8Array(100);
      }
    }
    await expect(readFrame(endless(), 1000)).rejects.toBeInstanceOf(GrpcError);
    expect(given).toBe(11);
  });
});

describe('grpc status', () => {
  test('keeps a message through its header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (message) => {
        const encoded = percentEncode(message);
        expect(encoded).toMatch(/^[\x20-\x7e]*$/);
        expect(percentDecode(encoded)).toBe(message);
      }),
    );
  });

  test('reads the call’s outcome from trailers', () => {
    expect(statusOf(statusTrailers(GrpcStatus.ok))).toBe('ok');
    const error = statusOf(statusTrailers(GrpcStatus.unauthenticated, 'nö'));
    expect(error).toMatchObject({ status: 16, message: 'nö' });
    expect(statusOf({ 'grpc-status': 'x' })).toMatchObject({ status: GrpcStatus.unknown });
    expect(statusOf({ ':status': 200 })).toBeUndefined();
    expect(statusOf({ ':status': 503 })).toMatchObject({ status: GrpcStatus.unavailable });
    expect(statusOf({ ':status': 418 })).toMatchObject({ status: GrpcStatus.unknown });
  });
});
