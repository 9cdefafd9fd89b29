import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Marked } from 'marked';

/** Beside the program, for sources and for what is published: both lie equally deep. */
const FOLDER = join(import.meta.dirname, '../../docs/runbooks');

const STYLE = `body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif;
  color-scheme: light dark }
pre { padding: 0.75rem; overflow-x: auto; border: 1px solid }
`;

/**
 * What to do about each alert, for hosts without a way to the internet: as written in the project's
 * documents, one page for each at `/runbooks/<alert>`.
 */
export function addRunbooks(app: FastifyInstance): void {
  const names = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.slice(0, -3))
    .toSorted();
  const html = (title: string, body: string) =>
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
    `<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/runbooks/style.css">` +
    `<body>${body}</body></html>`;
  const list = names.map((name) => `<li><a href="/runbooks/${name}">${name}</a></li>`).join('');
  const pages = new Map(
    names.map((name) => [
      name,
      html(name, `<p><a href="/runbooks/">All alerts</a></p>${pageOf(name)}`),
    ]),
  );
  app.get('/runbooks/style.css', (_, reply) => reply.type('text/css; charset=utf-8').send(STYLE));
  app.get('/runbooks/', (_, reply) =>
    reply.type(HTML).send(html('Alerts', `<h1>What to do about alerts</h1><ul>${list}</ul>`)),
  );
  app.get<{ Params: { name: string } }>('/runbooks/:name', (request, reply) => {
    const page = pages.get(request.params.name);
    return page === undefined ? reply.callNotFound() : reply.type(HTML).send(page);
  });
}

const HTML = 'text/html; charset=utf-8';

/** Documents beside the runbooks are not served: their links are left as text. */
const markdown = new Marked({
  async: false,
  renderer: {
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const [, name] = /^([a-z-]+)\.md$/.exec(href) ?? [];
      return name === undefined ? text : `<a href="/runbooks/${name}">${text}</a>`;
    },
  },
});

const pageOf = (name: string): string =>
  markdown.parse(readFileSync(join(FOLDER, `${name}.md`), 'utf8')) as string;
