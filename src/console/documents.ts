import { readdirSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join, posix } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Marked } from 'marked';

const FOLDER = join(dirname(findPackageJSON(import.meta.url)!), 'docs');
const RUNBOOKS = 'runbooks/';

const STYLE = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 44rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word;
  background: light-dark(#ffffff, #14181c); color: light-dark(#14171a, #e4e7eb) }
a { color: light-dark(#0b6862, #3ecfc0) }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding-bottom: 0.5rem; border-bottom: 1px solid }
pre, code { background: light-dark(#eceef0, #1c2126) }
pre { padding: 0.75rem; white-space: pre-wrap }
div { overflow-x: auto }
table { border-collapse: collapse }
th, td { padding: 0.25rem 0.75rem; border: 1px solid light-dark(#8b939d, #6b7580); text-align: start }
`;

/**
 * Serves the project's documents to hosts without a way to the internet: `/runbooks/<alert>` says what
 * to do about an alert, `/docs/<name>` is what runbooks and the other documents link to.
 */
export function addDocuments(app: FastifyInstance): void {
  const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .toSorted();
  const addresses = new Map(paths.map((path) => [path, addressOf(path)]));
  const listOf = (isListed: (path: string) => boolean) =>
    paths
      .filter(isListed)
      .map((path) => `<li><a href="${addressOf(path)}">${nameOf(path)}</a></li>`)
      .join('');
  const isRunbook = (path: string) => path.startsWith(RUNBOOKS);
  const index = (title: string, list: string) => html(title, `<h1>${title}</h1><ul>${list}</ul>`);
  const alerts = index('What to do about alerts', listOf(isRunbook));
  const documents = index(
    'Documents',
    listOf((path) => !path.includes('/')),
  );
  const made = new Map<string, string>();
  const pageOf = (path: string) => {
    const page = made.get(path) ?? html(nameOf(path), bodyOf(path, addresses));
    made.set(path, page);
    return page;
  };
  app.get('/runbooks/', (_, reply) => reply.type(HTML).send(alerts));
  app.get('/docs/', (_, reply) => reply.type(HTML).send(documents));
  app.get('/docs/style.css', (_, reply) => reply.type('text/css; charset=utf-8').send(STYLE));
  for (const [path, address] of addresses) {
    app.get(address, (_, reply) => reply.type(HTML).send(pageOf(path)));
  }
}

const HTML = 'text/html; charset=utf-8';

/** Of a file within the folder. */
const addressOf = (path: string): string =>
  `${path.startsWith(RUNBOOKS) ? '/' : '/docs/'}${path.replace(/\.md$/, '')}`;

const nameOf = (path: string): string => posix.basename(path, '.md');

const html = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} · Shepherd</title>` +
  `<meta name="viewport" content="width=device-width, initial-scale=1">` +
  `<link rel="stylesheet" href="/docs/style.css"></head><body><nav aria-label="Shepherd">` +
  `<a href="/">Fleet</a><a href="/runbooks/">All alerts</a><a href="/docs/">All documents</a></nav>` +
  `<main>${body}</main></body></html>`;

/** Links to what is not served are left as text, and pictures are left out. */
function bodyOf(path: string, addresses: ReadonlyMap<string, string>): string {
  const markdown = new Marked({
    async: false,
    renderer: {
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const [file = '', anchor] = href.split('#');
        const target = file === '' ? '' : addresses.get(posix.join(posix.dirname(path), file));
        if (target === undefined) return text;
        return `<a href="${target}${anchor === undefined ? '' : `#${anchor}`}">${text}</a>`;
      },
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>`;
      },
      image: ({ text }) => text,
    },
  });
  const body = markdown.parse(readFileSync(join(FOLDER, path), 'utf8')) as string;
  // A wide table scrolls by itself, also by keys.
  return body
    .replaceAll('<table>', '<div tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>');
}

/** As links in the documents name a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
