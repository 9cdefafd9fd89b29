/** A refusal the client sees: HTTP status and the messages of the `errors` list. */
export class ApiError extends Error {
  readonly status: number;
  readonly messages: readonly string[];
  /** Single-message form `{"error": …}`, which the service uses for authentication only. */
  readonly single: boolean;
  constructor(status: number, messages: readonly string[], single = false) {
    super(`${status}: ${messages.join('; ')}`);
    this.status = status;
    this.messages = messages;
    this.single = single;
  }
}

export const notFound = () => new ApiError(404, ['Not found']);
export const invalid = (...messages: string[]) => new ApiError(422, messages);
export const forbidden = (what: string) => new ApiError(403, [`You are not authorized to ${what}`]);
export const unauthenticated = () => new ApiError(401, ['Invalid authentication token'], true);

export const errorBody = (error: ApiError): object =>
  error.single ? { error: error.messages[0] } : { errors: error.messages };
