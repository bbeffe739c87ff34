import { FileDeleted, FileListQuery, FileMetadata, FileUploadFields } from "../files.ts";
import { type Operation, object, page } from "../operation.ts";

const FILE = "/v1/files/{file_id}";

export const fileOperations: readonly Operation[] = [
  {
    id: "files.upload",
    method: "POST",
    path: "/v1/files",
    body: { kind: "form", part: "file", fields: FileUploadFields },
    answer: object(FileMetadata),
  },
  {
    id: "files.list",
    method: "GET",
    path: "/v1/files",
    query: FileListQuery,
    answer: page(FileMetadata),
  },
  { id: "files.retrieveMetadata", method: "GET", path: FILE, answer: object(FileMetadata) },
  { id: "files.download", method: "GET", path: `${FILE}/content`, answer: { kind: "bytes" } },
  { id: "files.delete", method: "DELETE", path: FILE, answer: object(FileDeleted) },
];
