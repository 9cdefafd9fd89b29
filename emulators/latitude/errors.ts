import { ApiRefusal } from '../kit/api.ts';

/** One error of a reply. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  /** Place in the body, such as `/data/attributes/plan`. */
  readonly pointer?: string;
  /** Name of a query parameter. */
  readonly parameter?: string;
  readonly meta?: object;
}

/** The errors in the form of JSON:API. */
const documentOf = (status: number, problems: readonly Problem[]): object => ({
  errors: problems.map(({ code, detail, pointer, parameter, meta = {} }) => ({
    ...{ code, status: String(status), title: 'Error', detail },
    ...(pointer !== undefined && { source: { pointer } }),
    ...(parameter !== undefined && { source: { parameter } }),
    meta,
  })),
});

export const errorBody = (status: number, detail: string): object =>
  documentOf(status, [{ code: `HTTP_${status}`, detail }]);

/** A refusal that the client sees. */
export const refusal = (status: number, ...problems: readonly Problem[]): ApiRefusal =>
  new ApiRefusal(status, documentOf(status, problems));

export const notFound = (): ApiRefusal =>
  refusal(404, { code: 'not_found', detail: 'Specified Record Not Found' });
export const badParameter = (parameter: string, detail: string): ApiRefusal =>
  refusal(400, { code: 'BAD_REQUEST', detail, parameter });

// The texts of these three are unpublished: they are examples.
export const outOfStock = (): ApiRefusal =>
  refusal(422, { code: 'out_of_stock', detail: 'The plan is out of stock at this site' });
export const locked = (): ApiRefusal =>
  refusal(422, { code: 'server_locked', detail: 'The server is locked' });
export const wrongState = (): ApiRefusal =>
  refusal(422, { code: 'invalid_state', detail: 'The server cannot do this in its present state' });
