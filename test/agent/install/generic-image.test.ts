import { X509Certificate, createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import { createHostPrograms, noPrograms } from '../../../src/agent/host-programs.ts';
import type { HostPrograms } from '../../../src/agent/host-programs.ts';
import { createImageInstaller } from '../../../src/agent/install/generic-image.ts';
import type { ImageInstallerDeps } from '../../../src/agent/install/generic-image.ts';
import type { GenericImage } from '../../../src/wire/codec.ts';
import { IMAGE_COMPRESSION } from '../../../src/wire/installation.ts';
import { bytesOf, plantTree } from '../tree-fixture.ts';
import { breakOffAfter, serve, startImageServer, status } from './image-server.ts';
import type { ImageServer } from './image-server.ts';

const MIB = 1024 * 1024;
const DISK_BYTES = 16 * MIB;
const OLD = 0xaa;
/** Slightly more than two blocks of the writer. */
const IMAGE = Buffer.alloc(9 * MIB + 123, randomBytes(10_007));

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest();

/** A machine with one used disk. */
const plantMachine = (files: Parameters<typeof plantTree>[0] = {}) =>
  plantTree({
    'sys/class/block/vda/size': String(DISK_BYTES / 512),
    'sys/class/block/vda/serial': 'disk-1',
    'dev/vda': bytesOf(Buffer.alloc(DISK_BYTES, OLD)),
    ...files,
  });

function createInstaller(root: string, deps: Partial<ImageInstallerDeps> = {}) {
  const said: string[] = [];
  const install = createImageInstaller({
    root,
    isReal: false,
    programs: createHostPrograms(10_000),
    time: { sleep: () => Promise.resolve(), random: () => 0.5 },
    log: (message) => void said.push(message),
    trust: null,
    dropCaches: () => Promise.resolve(),
    // Nothing is kept in memory, so everything is checked during the write.
    roomBytes: () => 0,
    ...deps,
  });
  return { install, said };
}

describe('a generic image', () => {
  let root: string;
  let images: ImageServer;
  const image = (more: Partial<GenericImage> = {}): GenericImage => ({
    imageUrl: images.url,
    sha256: sha256(IMAGE),
    rootDevice: { name: 'vda' },
    ...more,
  });
  const run = async (more: Partial<GenericImage> = {}, deps?: Partial<ImageInstallerDeps>) => {
    const { install, said } = createInstaller(root, deps);
    const request = { generation: 1n, genericImage: image(more) };
    await install(request, new AbortController().signal);
    return said;
  };
  const disk = () => readFileSync(join(root, 'dev/vda'));
  const hasImage = () => Buffer.compare(disk().subarray(0, IMAGE.length), IMAGE) === 0;
  const isUntouched = () => disk().equals(Buffer.alloc(DISK_BYTES, OLD));
  const isZero = (end: number, start = 0) =>
    disk()
      .subarray(start, end)
      .every((byte) => byte === 0);
  const refuses = (message: RegExp | string, ...[more, deps]: Parameters<typeof run>) =>
    expect(run(more, deps)).rejects.toThrow(message);

  beforeEach(async () => {
    root = plantMachine();
    images = await startImageServer(serve(IMAGE));
  });

  test.each([
    ['larger than two blocks', IMAGE],
    ['smaller than a block', Buffer.from('small')],
    ['as large as the disk', randomBytes(DISK_BYTES)],
  ])('writes %s to the disk, and leaves the rest of the disk', async (_size, content) => {
    images.otherwise = serve(content);
    await run({ sha256: sha256(content) });
    const found = disk();
    const behind = Math.max(content.length, 4 * MIB);
    const blank = Buffer.alloc(behind - content.length);
    const old = Buffer.alloc(DISK_BYTES - behind, OLD);
    expect(found.equals(Buffer.concat([content, blank, old]))).toBe(true);
  });

  const xz = (content: Buffer) =>
    execFileSync('xz', ['-0', '--stdout'], { input: content, maxBuffer: 64 * MIB });
  test.each([
    ['gzip', IMAGE_COMPRESSION.gzip, gzipSync],
    ['zstd', IMAGE_COMPRESSION.zstd, zstdCompressSync],
    ['xz', IMAGE_COMPRESSION.xz, xz],
  ] as const)('unpacks %s; the SHA-256 is that of the disk', async (name, compression, pack) => {
    const has = createHostPrograms(1_000).find(name) !== null || name !== 'xz';
    const packed = has ? pack(IMAGE) : IMAGE;
    images.otherwise = serve(packed);
    const done = run({ compression });
    if (has) await done;
    else await expect(done).rejects.toThrow(/xz is not on this machine/);
    expect(hasImage()).toBe(has);
  });

  test.each([
    ['gzip', IMAGE_COMPRESSION.gzip, gzipSync(IMAGE)],
    ['zstd', IMAGE_COMPRESSION.zstd, zstdCompressSync(IMAGE)],
  ])('never boots %s that is truncated or not packed', async (_name, compression, packed) => {
    for (const content of [packed.subarray(0, -1000), IMAGE]) {
      images.otherwise = serve(content);
      await refuses('', { compression });
      expect(isUntouched() || isZero(4096)).toBe(true);
    }
  });

  test('writes nothing without a program to unpack it', async () => {
    const xzOnly = { compression: IMAGE_COMPRESSION.xz };
    await refuses('the program xz is not on this machine', xzOnly, { programs: noPrograms });
    expect([isUntouched(), images.requests.length]).toEqual([true, 0]);
  });

  test('reports a failed program in its own words', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'shepherd-programs-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const programs: HostPrograms = createHostPrograms(10_000, [directory]);
    const packed = { compression: IMAGE_COMPRESSION.xz };
    for (const [program, message] of [
      ['#!/bin/sh\ncat >/dev/null; echo broken >&2; exit 1\n', 'xz failed: broken'],
      // A program that reads nothing, and one that cannot be started.
      ['#!/bin/sh\nexec 0<&-; echo no magic >&2; exit 1\n', 'xz failed: no magic'],
      ['#!/nowhere/sh\n', /xz failed: .*ENOENT/],
    ] as const) {
      writeFileSync(join(directory, 'xz'), program, { mode: 0o755 });
      await refuses(message, packed, { programs });
    }
    images.otherwise = status(404);
    await refuses('answered with status 404', packed);
  });

  test('makes the disk unbootable when the SHA-256 differs', async () => {
    await refuses(/has SHA-256 .* not/, { sha256: sha256(Buffer.from('x')) });
    expect(isZero(4 * MIB)).toBe(true);
  });

  describe('B6: an image that fits into memory', () => {
    const roomBytes = () => 64 * MIB;
    test.each([
      ['as it is', IMAGE_COMPRESSION.none, (content: Buffer) => content],
      ['packed', IMAGE_COMPRESSION.gzip, gzipSync],
    ])(
      'leaves the disk untouched until the SHA-256 is right: %s',
      async (_name, compression, pack) => {
        images.otherwise = serve(pack(IMAGE));
        const wrong = { compression, sha256: sha256(Buffer.from('x')) };
        await refuses(/has SHA-256 .* not/, wrong, { roomBytes });
        expect(isUntouched()).toBe(true);
        await run({ compression }, { roomBytes });
        expect([hasImage(), images.requests.length]).toEqual([true, 2]);
      },
    );

    test('leaves the disk untouched by a truncated packed image', async () => {
      images.otherwise = serve(gzipSync(IMAGE).subarray(0, -1000));
      await refuses('', { compression: IMAGE_COMPRESSION.gzip }, { roomBytes });
      expect(isUntouched()).toBe(true);
    });

    test('writes an image that does not fit as it comes, and logs that', async () => {
      const said = await run({}, { roomBytes: () => 3 * MIB });
      expect(hasImage()).toBe(true);
      expect(said.join()).toMatch('does not fit into memory');
    });
  });

  test('B6: follows no redirect from https to plain http', async () => {
    const { key, cert, caDer } = await createDevCertificates({ names: [] });
    const server = createHttpsServer({ key, cert }, (_request, response) => {
      response.writeHead(302, { location: images.url }).end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const imageUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}/image`;
    const trust = new X509Certificate(caDer).toString();
    await refuses(/redirects from https to plain http/, { imageUrl }, { trust });
    expect([isUntouched(), images.requests.length]).toEqual([true, 0]);
  });

  test('reports a disk that does not return what was written', async () => {
    const spoil = () => {
      const bytes = disk();
      bytes.writeUInt8(bytes.readUInt8(5 * MIB) ^ 1, 5 * MIB);
      writeFileSync(join(root, 'dev/vda'), bytes);
      return Promise.resolve();
    };
    await refuses(/does not return/, {}, { dropCaches: spoil });
  });

  const large = Buffer.alloc(DISK_BYTES + 1);
  const { none, gzip } = IMAGE_COMPRESSION;
  test.each([
    ['of a known size', none, serve(large), 0, /only \d+ bytes fit/],
    ['packed', gzip, serve(gzipSync(large)), 0, /is larger/],
    ['packed, that fits into memory', gzip, serve(gzipSync(large)), 64 * MIB, /is larger/],
  ])('refuses an image %s that is too large', async (_name, compression, answer, room, message) => {
    images.otherwise = answer;
    await refuses(message, { compression }, { roomBytes: () => room });
    expect(images.requests).toHaveLength(1);
    expect(isUntouched()).toBe(compression === none || room > 0);
  });

  test.each([
    ['cloud-init data', { cloudInit: Buffer.from('#cloud-config') }, /cannot store cloud-init/],
    ['no address', { imageUrl: '' }, /neither http nor https|not an http or https/],
    ['no disk', { rootDevice: {} }, /exactly one/],
    ['a disk that is not there', { rootDevice: { name: 'vdb' } }, /disks: vda/],
  ])('refuses %s before any request', async (_name, more, message) => {
    await refuses(message, more);
    expect([isUntouched(), images.requests.length]).toEqual([true, 0]);
  });

  test('refuses a request without an image, or for another system', async () => {
    const { install } = createInstaller(root);
    const { signal } = new AbortController();
    await expect(install({ generation: 1n }, signal)).rejects.toThrow(/not say what to install/);
    const metropolis = { generation: 1n, metropolis: {} };
    await expect(install(metropolis, signal)).rejects.toThrow(/generic images only/);
  });

  test('ends a cancelled installation with the reason', async () => {
    images.otherwise = (_request, response) => {
      response.writeHead(200).write('a');
    };
    const { install } = createInstaller(root);
    const cancel = new AbortController();
    const running = install({ generation: 1n, genericImage: image() }, cancel.signal);
    await expect.poll(() => images.requests.length).toBe(1);
    cancel.abort(new Error('no more'));
    await expect(running).rejects.toThrow();
    expect(hasImage()).toBe(false);
  });

  describe('from a server', () => {
    test('that breaks off: continues where it was', async () => {
      images.script.push(breakOffAfter(3 * MIB, IMAGE), breakOffAfter(2 * MIB, IMAGE));
      const said = await run();
      expect(hasImage()).toBe(true);
      expect(images.requests).toHaveLength(3);
      expect(images.requests[0]).not.toHaveProperty('range');
      for (const headers of images.requests.slice(1)) {
        expect(headers).toMatchObject({ range: /^bytes=[1-9]\d*-$/, 'if-range': '"v1"' });
      }
      expect(said.join()).toMatch(/ended at byte [1-9]/);
    });

    test.each([
      ['no validator', null],
      ['a weak validator', 'W/"v1"'],
    ])('that sends %s: skips what it has', async (_name, etag) => {
      images.script.push(breakOffAfter(3 * MIB, IMAGE, etag));
      images.otherwise = serve(IMAGE, etag);
      await run();
      expect(hasImage()).toBe(true);
      expect(images.requests[1]).not.toHaveProperty('range');
    });

    test('whose content changed meanwhile: the SHA-256 differs', async () => {
      images.script.push(breakOffAfter(3 * MIB, IMAGE));
      images.otherwise = serve(randomBytes(IMAGE.length), '"v2"');
      await refuses(/has SHA-256/);
    });

    test('that answers with another range than requested', async () => {
      const wrong = status(206, { 'content-range': 'bytes 1-2/3' });
      images.script.push(breakOffAfter(3 * MIB, IMAGE), wrong);
      await refuses(/a different range/);
    });

    test('that is away for a while', async () => {
      const waits: number[] = [];
      const sleep = (delayMs: number) => Promise.resolve(void waits.push(delayMs));
      images.script.push(status(503), status(429), (_request, response) => response.destroy());
      await run({}, { time: { sleep, random: () => 0.5 } });
      expect(hasImage()).toBe(true);
      expect(waits).toEqual([500, 750, 1125]);
    });

    test.each([404, 403, 400])('that answers %i: is not asked again', async (code) => {
      images.otherwise = status(code);
      await refuses(`answered with status ${code}`);
      expect([isUntouched(), images.requests.length]).toEqual([true, 1]);
    });

    test('that redirects a few times', async () => {
      images.script.push(
        status(302, { location: '/other' }),
        status(307, { location: images.url }),
      );
      await run();
      expect(hasImage()).toBe(true);
    });

    test.each([
      ['for ever', '/image', /more than 5 redirects/],
      ['to a file', 'file:///etc/shadow', /neither http nor https|not an http or https/],
      ['to nonsense', 'http://', /neither http nor https|not an http or https/],
    ])('that redirects %s', async (_name, location, message) => {
      images.otherwise = status(302, { location });
      await refuses(message);
      expect(images.requests.length).toBeLessThanOrEqual(6);
    });

    test('is logged without its credentials: user and query', async () => {
      const { host } = new URL(images.url);
      const imageUrl = `http://user:secret@${host}/image?token=secret`;
      images.script.push(breakOffAfter(MIB, IMAGE));
      const said = await run({ imageUrl });
      expect(said[0]).toBe(`writing http://${host}/image to vda`);
      expect(images.requests[0]!.authorization).toMatch(/^Basic /);
      images.otherwise = status(302, { location: imageUrl });
      const failure = await run({ imageUrl }).catch((error: unknown) => error);
      expect(String(failure)).toMatch(`more than 5 redirects from http://${host}/image`);
      expect([...said, String(failure)].join()).not.toContain('secret');
    });
  });
});
