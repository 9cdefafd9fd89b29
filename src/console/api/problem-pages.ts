import type { FastifyInstance } from 'fastify';
import { PROBLEMS, PROBLEM_CODES, Problem, type ProblemCode } from './problem.ts';

/** `/problems/<code>`: what the `type` of a problem leads to, as plain text. */
export function addProblemPages(app: FastifyInstance): void {
  app.get<{ Params: { code: string } }>('/problems/:code', async (request, reply) => {
    const { code } = request.params;
    if (!isCode(code)) throw new Problem('not-found', 'No problem has this code');
    const { title, status, about } = PROBLEMS[code];
    return reply
      .type('text/plain; charset=utf-8')
      .send(`${title} (${code}, ${status})\n\n${about}\n`);
  });
}

const isCode = (text: string): text is ProblemCode =>
  (PROBLEM_CODES as readonly string[]).includes(text);
