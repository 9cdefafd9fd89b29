interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** The button that loads the next page of a list, while there is one. */
export const More = ({ query, text }: { readonly query: Paged; readonly text: string }) =>
  query.hasNextPage && (
    <p>
      <button
        type="button"
        disabled={query.isFetchingNextPage}
        onClick={() => void query.fetchNextPage()}
      >
        {text}
      </button>
    </p>
  );
