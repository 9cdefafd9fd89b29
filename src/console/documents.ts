import { readdirSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join, posix } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Marked } from 'marked';

const FOLDER = join(dirname(findPackageJSON(import.meta.url)!), 'docs');
/** Documents, and the sources of the charts that they link to. */
const SERVED = /\.(md|mmd)$/;
const RUNBOOKS = 'runbooks.md';

const STYLE = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 48rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word;
  background: light-dark(#ffffff, #14181c); color: light-dark(#14171a, #e4e7eb) }
a { color: light-dark(#0b6862, #3ecfc0) }
h1, h2, h3 { line-height: 1.25; margin: 1.75rem 0 0.5rem }
:target { background: light-dark(#fff3c9, #3b3413) }
header { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding-bottom: 0.5rem; border-bottom: 1px solid }
summary { cursor: pointer }
details ul { columns: 16rem; padding-left: 1.25rem }
pre, code { background: light-dark(#eceef0, #1c2126) }
pre { padding: 0.75rem; white-space: pre-wrap }
.scrolls { overflow-x: auto }
table { border-collapse: collapse }
th, td { padding: 0.25rem 0.75rem; border: 1px solid light-dark(#8b939d, #6b7580); text-align: start;
  vertical-align: top; overflow-wrap: normal }
`;

/**
 * Serves `docs/` of this installation, for hosts without internet access. `/docs/` is the index, and
 * `/docs/<name>` is a document. `/runbooks/<alert>` leads to the section of the runbooks for this alert.
 */
export function addDocuments(app: FastifyInstance): void {
  const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((path) => SERVED.test(path))
    .toSorted();
  const addresses = new Map(paths.map((path) => [path, addressOf(path)]));
  const made = new Map<string, string>();
  const pageOf = (path: string): string => {
    const page = made.get(path) ?? makePage(path, addresses);
    made.set(path, page);
    return page;
  };
  for (const [path, address] of addresses) {
    app.get(address, (_, reply) =>
      path.endsWith('.md')
        ? reply.type('text/html; charset=utf-8').send(pageOf(path))
        : reply.type('text/plain; charset=utf-8').send(readFileSync(join(FOLDER, path))),
    );
    if (address.endsWith('/')) {
      app.get(address.slice(0, -1), (_, reply) => reply.redirect(address));
    }
  }
  app.get('/docs/style.css', (_, reply) => reply.type('text/css; charset=utf-8').send(STYLE));
  app.get('/runbooks/', (_, reply) => reply.redirect('/docs/runbooks'));
  app.get<{ Params: { alert: string } }>('/runbooks/:alert', ({ params: { alert } }, reply) =>
    pageOf(RUNBOOKS).includes(` id="${alert}"`)
      ? reply.redirect(`/docs/runbooks#${alert}`)
      : reply.callNotFound(),
  );
}

/** The address of a file in the folder. A `README.md` is the index of its folder. */
const addressOf = (path: string): string =>
  `/docs/${path.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')}`;

/** A page of more sections than this begins with a list of them. */
const SECTIONS_LISTED = 3;

interface Section {
  readonly id: string;
  /** As HTML. */
  readonly title: string;
}

/** A document as an HTML page. Links to files that are not served become text, and so do pictures. */
function makePage(path: string, addresses: ReadonlyMap<string, string>): string {
  const sections: Section[] = [];
  const ids = new Map<string, number>();
  const markdown = new Marked({
    async: false,
    renderer: {
      link({ href, tokens }) {
        if (/^https?:/.test(href)) return false;
        const text = this.parser.parseInline(tokens);
        const [file = '', anchor] = href.split('#');
        const target = file === '' ? '' : addresses.get(posix.join(posix.dirname(path), file));
        if (target === undefined) return text;
        return `<a href="${target}${anchor === undefined ? '' : `#${anchor}`}">${text}</a>`;
      },
      heading({ tokens, depth, text }) {
        const title = this.parser.parseInline(tokens);
        const slug = slugOf(text);
        const count = ids.get(slug) ?? 0;
        ids.set(slug, count + 1);
        const id = count === 0 ? slug : `${slug}-${count}`;
        if (depth === 2) sections.push({ id, title });
        return `<h${depth} id="${id}">${title}</h${depth}>`;
      },
      image: ({ text }) => text,
    },
  });
  const body = (markdown.parse(readFileSync(join(FOLDER, path), 'utf8')) as string)
    // A wide table scrolls alone, also with the keyboard.
    .replaceAll(
      '<table>',
      '<div class="scrolls" tabindex="0" role="group" aria-label="Table"><table>',
    )
    .replaceAll('</table>', '</table></div>')
    .replace('</h1>', `</h1>${sections.length > SECTIONS_LISTED ? contents(sections) : ''}`);
  return html(/<h1[^>]*>(.*?)<\/h1>/.exec(body)?.[1]?.replaceAll(/<[^>]*>/g, '') ?? path, body);
}

const contents = (sections: readonly Section[]): string =>
  `<nav aria-label="Sections"><details><summary>On this page</summary><ul>${sections
    .map(({ id, title }) => `<li><a href="#${id}">${title.replaceAll(/<\/?a[^>]*>/g, '')}</a></li>`)
    .join('')}</ul></details></nav>`;

const html = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} · Shepherd</title>` +
  `<meta name="viewport" content="width=device-width, initial-scale=1">` +
  `<link rel="stylesheet" href="/docs/style.css"></head><body><header>` +
  `<a href="/">Fleet</a><a href="/docs/runbooks">Alerts</a><a href="/docs/">All documents</a></header>` +
  `<main>${body}</main></body></html>`;

/** The anchor of a heading, as GitHub makes it from the Markdown. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
