import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

export const NDJSON = 'application/x-ndjson';
/** Lines of a download at most. */
export const DOWNLOAD_MAX = 100_000;

/** In URLs of what can be taken along as a file. */
export const Format = z
  .enum(['json', 'ndjson'])
  .default('json')
  .describe(
    `\`ndjson\`: all of them for a file, whatever \`limit\` says; ${DOWNLOAD_MAX} at most.`,
  );

/** An object in each line. */
export const linesOf = (all: readonly object[]): string =>
  all.map((each) => `${JSON.stringify(each)}\n`).join('');

/** A page, and how to read the one after it; null: it is the last. */
export interface DownloadPage {
  readonly rows: readonly object[];
  readonly next: (() => Promise<DownloadPage>) | null;
}

/** Page after page as a file. The first one is read before, so that what is wrong can still be told. */
export const download = (reply: FastifyReply, file: string, first: DownloadPage) =>
  asLines(
    reply.header('content-disposition', `attachment; filename="${file}.ndjson"`),
    Readable.from(linesFrom(first)),
  );

async function* linesFrom(first: DownloadPage): AsyncIterable<string> {
  let page: DownloadPage | null = first;
  for (let told = 0; page !== null && page.rows.length > 0 && told < DOWNLOAD_MAX;) {
    told += page.rows.length;
    yield linesOf(page.rows);
    page = page.next && (await page.next());
  }
}

export const asLines = (reply: FastifyReply, lines: string | Readable) =>
  reply.type(NDJSON).serializer(String).send(lines);
