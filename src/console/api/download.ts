import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

export const NDJSON = 'application/x-ndjson';
/** Maximum lines of a download. */
export const DOWNLOAD_MAX = 100_000;

/** Parameter of URLs that offer a download. */
export const Format = z
  .enum(['json', 'ndjson'])
  .default('json')
  .describe(
    `\`ndjson\`: all entries as a file. \`limit\` is ignored; the maximum is ${DOWNLOAD_MAX}.`,
  );

/** One object per line. */
export const linesOf = (all: readonly object[]): string =>
  all.map((each) => `${JSON.stringify(each)}\n`).join('');

/** A page, and how to read the next one; null: last page. */
export interface DownloadPage {
  readonly rows: readonly object[];
  readonly next: (() => Promise<DownloadPage>) | null;
}

/** Sends pages as a file. The first is read beforehand, so that errors can be reported. */
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
