# Writes a .cpp that holds text files as constants. Run as a script:
#   cmake -DOUT=f.cpp -DFILES="name=path;…" -P EmbedText.cmake
# Defines `extern const EmbeddedText kEmbeddedTexts[]` (see topology/embedded.hpp), ended by a null name.
set(body "#include \"topology/embedded.hpp\"\n\nnamespace kernbench::topology {\nconst EmbeddedText kEmbeddedTexts[] = {\n")
foreach(pair ${FILES})
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 name)
  list(GET pair 1 path)
  file(READ ${path} text)
  string(APPEND body "{\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
string(APPEND body "{nullptr, nullptr}};\n}  // namespace kernbench::topology\n")
file(WRITE ${OUT} "${body}")
