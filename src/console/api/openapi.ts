import { z } from 'zod';
import type { Api } from './kit.ts';

/** `openapi.json`: what the API is made of. The same stands in `generated/`. */
export function addOpenApi(api: Api): void {
  let document: string | null = null;
  api.get(
    '/openapi.json',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'This description',
        response: { 200: z.looseObject({ openapi: z.string() }) },
      },
    },
    async (_request, reply) => {
      document ??= JSON.stringify(api.swagger());
      return reply
        .type('application/json')
        .serializer(String)
        .send(document as never);
    },
  );
}
